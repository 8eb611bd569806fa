"""`dure status`: everything at a glance."""

from typing import TYPE_CHECKING

from dure.cli.grammar import Given, Verb, Verbs
from dure.cli.nouns.batches import left, shape as batch_shape
from dure.cli.nouns.breakers import shape as breaker_shape
from dure.cli.nouns.pause import shape as pause_shape
from dure.cli.wording import away, clean, counted, length, states

if TYPE_CHECKING:
    from dure.cli.desk import Desk


async def _show(desk: "Desk", _given: Given) -> None:
    seen = await desk.insights.overview()
    now = seen.now
    counts = {state.name.lower(): number for state, number in sorted(seen.counts.items())}
    ended = {name: counts.pop(name, 0) for name in ("failed", "stale", "cancelled")}
    tripped = {name: c for name, c in seen.breakers.items() if c.phase != "closed"}
    item = {
        "name": "status",
        "now": now,
        "unfinished": counts,
        "ended_last_hour": ended,
        "oldest_ready_seconds": seen.oldest_ready,
        "workers": {"alive": seen.workers_alive, "gone": seen.workers_gone},
        "pauses": [pause_shape(pause) for pause in seen.pauses],
        "lanes_disabled": [lane.name for lane in seen.lanes_disabled],
        "breakers_open": [breaker_shape(name, c) for name, c in tripped.items()],
        "batches": [batch_shape(view) for view in seen.batches],
    }
    gone = f", {seen.workers_gone} gone" if seen.workers_gone else ""
    oldest = seen.oldest_ready
    desk.screen.card(
        "status",
        item,
        [
            ("jobs", states(counts)),
            ("oldest ready", None if oldest is None else length(oldest)),
            ("last hour", states(ended) if any(ended.values()) else "nothing failed"),
            ("workers", f"{seen.workers_alive} alive{gone}"),
            *(
                ("paused", clean(f"{p.target}, {away(p.at, now)} by {p.by}{_because(p.reason)}"))
                for p in seen.pauses
            ),
            *(
                ("lane disabled", clean(f"{lane.name}, {counted(lane.failures, 'failure')}"))
                for lane in seen.lanes_disabled
            ),
            *(("breaker", clean(f"{name} is {c.sentence}")) for name, c in tripped.items()),
            *(
                ("batch", clean(f"{view.batch.id} {view.batch.name}: {left(view, now)}"))
                for view in seen.batches
            ),
        ],
    )


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


VERBS: Verbs = {"": Verb("show everything at a glance", _show)}
