"""The promises that can only be judged when all is quiet: what is where, and why."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Final

import msgspec

from dure.core.state import FINAL, State
from dure.engine.gates import Cap, Resource
from dure.simulate.faults.fleet import Fleet
from dure.simulate.faults.ledger import Ledger
from dure.simulate.faults.workload import World

_UNFINISHED: Final = "state in (0, 1, 2)"

Finding = tuple[str, str, int | None]
"""An invariant, how it was broken, and the job it concerns."""


def is_quiet(ledger: Ledger) -> bool:
    """Whether nothing is left that runs or could run."""
    return not ledger.ask(f"select 1 from dure_live where {_UNFINISHED} limit 1")  # noqa: S608


def findings(world: World, fleet: Fleet) -> Iterator[Finding]:
    """Everything that is wrong at the end."""
    yield from _unexplained(world)
    yield from _lost(world)
    yield from _effects(world)
    yield from _keys(world)
    yield from _batches(world)
    for sentence in held(fleet):
        yield "what is lent comes back", sentence, None
    yield from _places(world)


def _unexplained(world: World) -> Iterator[Finding]:
    for job, state, reason in world.ledger.ask(
        f"select id, state, reason from dure_live where {_UNFINISHED}"  # noqa: S608 - a constant
    ):
        sentence = f"Job {job} is still {State(state).name} ({reason}) and nobody runs it."
        yield "every job ends or says why not", sentence, job
    for (job,) in world.ledger.ask("select id from dure_live where state = 3 and reason is null"):
        yield "every job ends or says why not", f"Job {job} is suspended without a reason.", job


def _lost(world: World) -> Iterator[Finding]:
    live = {row[0] for row in world.ledger.ask("select id from dure_live")}
    history = {row[0] for row in world.ledger.ask("select id from dure_history")}
    for job in sorted(live & history):
        yield "one place", f"Job {job} is both unfinished and finished.", job
    for token, job in world.acknowledged.items():
        if job not in live and job not in history:
            yield "nothing is lost", f"Job {job} (token {token}) was acknowledged.", job


def _effects(world: World) -> Iterator[Finding]:
    """Rows and follow-ups exist for the attempt that was committed, and for no other."""
    ended = {
        token: (job, State(state), fence)
        for job, state, fence, body in world.ledger.ask(
            "select id, state, fence, body from dure_history"
        )
        for token in _tokens(body)
    }
    rows: defaultdict[int, Counter[int]] = defaultdict(Counter)
    for token, run in world.ledger.ask("select token, run from trial_effect"):
        rows[token][run] += 1
    for token, runs in rows.items():
        job, state, fence = ended.get(token, (None, None, None))
        if state is not State.SUCCESS or len(runs) != 1:
            name = "not finished" if state is None else state.name
            sentence = f"{name}, with rows of {len(runs)} attempts."
            yield "effects belong to one success", sentence, job
            continue
        ((number, count),) = runs.items()
        run = world.runs[number]
        if run.effects != count or run.fence not in {None, fence} or not run.ends_well:
            sentence = f"{count} rows of {run}, finished under fence {fence}."
            yield "effects happen exactly once", sentence, job
    yield from _follow_ups(world, ended, rows)


def _follow_ups(
    world: World,
    ended: dict[int, tuple[int, State, int]],
    rows: defaultdict[int, Counter[int]],
) -> Iterator[Finding]:
    bodies = world.ledger.ask("select body from dure_live union all select body from dure_history")
    there = Counter(token for (body,) in bodies for token in _tokens(body))
    for run in world.runs:
        is_committed = run.number in rows[run.token]
        for token in run.then:
            if there[token] != int(is_committed):
                sentence = f"{there[token]} jobs with token {token} follow from {run}."
                yield "follow-ups happen exactly once", sentence, ended.get(run.token, (None,))[0]
    for run in world.runs:
        job, state, fence = ended.get(run.token, (None, None, None))
        wrote = run.effects and run.ends_well and run.fence is not None
        if wrote and state is State.SUCCESS and fence == run.fence and not rows[run.token]:
            yield "effects happen exactly once", f"No row of {run} is there.", job


def _tokens(body: str) -> list[int]:
    return list(msgspec.json.decode(body, type=dict[str, int]).values())


def _keys(world: World) -> Iterator[Finding]:
    for key, count in world.ledger.ask(
        "select key, count(*) from dure_live where key is not null group by key having count(*) > 1"
    ):
        yield "unique keys admit one", f"{count} unfinished jobs hold {key!r}.", None
    for key, job in world.ledger.ask(
        "select k.key, k.job from dure_key k where k.until is null "
        "and not exists (select 1 from dure_live l where l.id = k.job)"
    ):
        yield "unique keys are freed", f"{key!r} is still held by a finished job.", job


def _batches(world: World) -> Iterator[Finding]:
    """What was counted is what is there."""
    counted = world.ledger.ask(
        "select b.id, b.added + coalesce(sum(t.added), 0), "
        "b.success + b.skipped + coalesce(sum(t.success + t.skipped), 0), "
        "b.failed + coalesce(sum(t.failed), 0), b.stale + coalesce(sum(t.stale), 0), "
        "b.cancelled + coalesce(sum(t.cancelled), 0) "
        "from dure_batch b left join dure_tally t on t.batch = b.id group by b.id"
    )
    for batch, *counts in counted:
        states = Counter(
            State(row[0])
            for row in world.ledger.ask(
                "select state from dure_live where batch = ?1 union all "
                "select state from dure_history where batch = ?1",
                batch,
            )
        )
        ends = (State.SUCCESS, State.FAILED, State.STALE, State.CANCELLED)
        real = [sum(states.values()), *(states[end] for end in ends)]
        if counts != real:
            sentence = f"Batch {batch} counts {counts}; there are {real} (all, then by end)."
            yield "batches count what is there", sentence, None


def held(fleet: Fleet) -> Iterator[str]:
    """What nodes hold that others could want; a claim that is under way holds something."""
    for member in fleet.nodes:
        node = member.node
        assert node is not None
        gates: list[Resource | Cap] = [*node.pacer.resources.values(), *node.pacer.caps.values()]
        yield from (f"{member.name} holds {g.used} of {g.name}." for g in gates if g.used)


def _places(world: World) -> Iterator[Finding]:
    for (job,) in world.ledger.ask("select id from dure_history where state = 1"):
        yield "the table", f"Job {job} is in history and not final.", job
    for job, seen in world.auditor.jobs.items():
        if (seen.state in FINAL) == bool(
            world.ledger.ask("select 1 from dure_live where id = ?", job)
        ):
            yield "one place", f"Job {job} is not where it was last seen.", job
