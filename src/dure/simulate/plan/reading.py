"""A scenario from a file: what each key means, and what must fit together."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from importlib.resources import files
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

from dure.core.backoff import Backoff, RetryPolicy
from dure.core.job import LANE_DEFAULT
from dure.core.limit import Limit, Window
from dure.core.state import Priority
from dure.core.timetable import Timetable
from dure.engine.options import RESOURCES
from dure.simulate.plan.scenario import (
    JOBS_MAX,
    LANES_MAX,
    SLOTS_MAX,
    WORKERS_MAX,
    Arrival,
    KindPlan,
    LaneGroup,
    Outage,
    Scenario,
)
from dure.simulate.plan.spread import Spread
from dure.simulate.plan.table import Table
from dure.simulate.plan.volume import check

_MANY: Final = 1_000_000_000
_WEIGHT_MIN, _WEIGHT_MAX = 0.001, 1000.0
_DAY: Final = 86400.0
_PLAIN: Final = Scenario(kinds={}, lanes={}, arrivals=())
"""Where the defaults are written down."""
_TERMS: Final = KindPlan(name="", duration=Spread("fixed", 0.0, 0.0))
_BACKOFF: Final = Backoff()
_UNCHANGED: Final[Mapping[str, object]] = {}


def example() -> str:
    """A scenario file with every key explained."""
    return files("dure.simulate.plan").joinpath("example.toml").read_text(encoding="utf-8")


def read(path: Path, changes: Mapping[str, object] = _UNCHANGED) -> Scenario:
    """The scenario in a file; `changes` stand in for what it says at its top.

    Raises ScenarioMissing or ScenarioInvalid.
    """
    return scenario_of(Table.load(path, changes))


def scenario_of(top: Table) -> Scenario:
    """The scenario in a table. Raises ScenarioInvalid."""
    limits = {name: _limit(name, table) for name, table in top.table("limits").named()}
    listed = top.table("kinds")
    kinds = {name: _kind(name, table, limits) for name, table in listed.named()}
    if not kinds:
        raise top.wrong("kinds", "is missing", "Write [kinds.NAME] with a duration below it.")
    _check_follow_ups(listed, kinds)
    lanes = {name: _lanes(name, table, limits) for name, table in top.table("lanes").named()}
    lanes = lanes or {LANE_DEFAULT: LaneGroup(name=LANE_DEFAULT)}
    if sum(group.count for group in lanes.values()) > LANES_MAX:
        raise top.wrong("lanes", f"has more than {LANES_MAX:,} lanes in all")
    lasts = top.span("lasts", _PLAIN.lasts)
    zone = top.text("zone", _PLAIN.zone)
    epoch = top.parsed("start" if top.has("start") else "zone", lambda: _epoch(top, zone))
    arrivals = [_arrival(t, kinds, lanes, lasts, zone) for t in top.tables("arrivals")]
    if not arrivals:
        raise top.wrong("arrivals", "is missing", "Write [[arrivals]] with a rate or jobs.")
    scenario = Scenario(
        kinds=kinds,
        lanes=lanes,
        arrivals=tuple(arrivals),
        limits=limits,
        outages=tuple(_outage(table, kinds, lasts) for table in top.tables("outages")),
        workers=top.whole("workers", _PLAIN.workers, 1, WORKERS_MAX),
        slots=top.whole("slots", _PLAIN.slots, 1, SLOTS_MAX),
        resources=_resources(top.table("resources")),
        epoch=epoch,
        zone=zone,
        lasts=lasts,
        patience=top.span("patience", _PLAIN.patience),
        seed=top.whole("seed", _PLAIN.seed, 0, 2**63),
    )
    top.close()
    check(scenario, top.wrong)
    return scenario


def _limit(name: str, table: Table) -> Limit:
    hold = table.span("hold", 0.0) if table.has("hold") else None
    most = table.whole("max_running", 0, 1, _MANY) or None
    texts = table.names("windows")
    windows = table.parsed("windows", lambda: tuple(Window.parse(text) for text in texts))
    table.close()
    return table.parsed("windows", lambda: Limit(name, windows, most, hold=hold))


def _kind(name: str, table: Table, limits: Mapping[str, Limit]) -> KindPlan:
    length = str(table.raw("duration"))
    plan = KindPlan(
        name=name,
        duration=table.parsed("duration", lambda: Spread.parse(length)),
        fails=table.number("fails", 0.0, 0.0, 1.0),
        fails_for_good=table.number("fails_for_good", 0.0, 0.0, 1.0),
        retry=_retry(table.table("retry")),
        timeout=_timeout(table),
        limits=_known(table, "limits", limits, "limit"),
        tokens=table.whole("tokens", 0, 0, _MANY),
        tokens_used=table.whole("tokens_used", 0, 0, _MANY) if table.has("tokens_used") else None,
        breaker=table.text("breaker", "") or None,
        uses=_known(table, "uses", RESOURCES, "resource"),
        max_running=table.whole("max_running", 0, 1, _MANY) or None,
        priority=_priority(table, "priority") or Priority.NORMAL,
        retry_priority=_priority(table, "retry_priority"),
        then=_then(table.table("then")),
    )
    table.close()
    if plan.fails + plan.fails_for_good > 1.0:
        raise table.wrong("fails", "and fails_for_good are more than 1 together")
    return plan


def _timeout(table: Table) -> float | None:
    if table.has("timeout") and table.raw("timeout") == "none":
        return None
    return table.span("timeout", _TERMS.timeout or 0.0)


def _retry(table: Table) -> RetryPolicy:
    attempts = table.whole("attempts", _TERMS.retry.max_attempts, 1, 1000)
    phase = Backoff(
        base=table.span("base", _BACKOFF.base),
        factor=table.number("factor", _BACKOFF.factor, 1.0, 1000.0),
        cap=table.span("cap", _BACKOFF.cap),
        jitter=table.number("jitter", _BACKOFF.jitter, 0.0, 1.0),
    )
    table.close()
    return RetryPolicy(attempts, (phase,))


def _then(table: Table) -> dict[str, float]:
    """Whether the kinds are there is known only when all of them have been read."""
    return {name: table.number(name, 0.0, 0.0, float(JOBS_MAX)) for name in table}


def _check_follow_ups(listed: Table, kinds: Mapping[str, KindPlan]) -> None:
    for name, plan in kinds.items():
        then = listed.table(name).table("then")
        for following in plan.then:
            then.known(following, following, kinds, "the kind")


def _lanes(name: str, table: Table, limits: Mapping[str, Limit]) -> LaneGroup:
    group = LaneGroup(
        name=name,
        count=table.whole("count", 1, 1, LANES_MAX),
        weight=table.number("weight", 1.0, _WEIGHT_MIN, _WEIGHT_MAX),
        max_running=table.whole("max_running", 0, 1, _MANY) or None,
        limits=_known(table, "limits", limits, "limit"),
    )
    table.close()
    return group


def _arrival(
    table: Table,
    kinds: Mapping[str, KindPlan],
    lanes: Mapping[str, LaneGroup],
    lasts: float,
    zone: str,
) -> Arrival:
    has_rate, over = table.has("rate"), table.span("over", 0.0)
    if has_rate == table.has("jobs"):
        raise table.wrong("rate", "or jobs must be given, and not both")
    every = table.text("every", "")
    if every and (has_rate or over):
        raise table.wrong("every", "goes with jobs, and not with a rate or over")
    if over and has_rate:
        raise table.wrong("over", "goes with jobs; a rate has from and until")
    arrival = Arrival(
        kind=_one(table, "kind", kinds),
        lanes=_one(table, "lanes", lanes),
        jobs=0 if has_rate else table.whole("jobs", 0, 1, JOBS_MAX),
        over=over,
        rate=_rate(table) if has_rate else 0.0,
        is_steady=table.switch("steady"),
        timetable=table.parsed("every", lambda: _timetable(every, zone)) if every else None,
        start=table.span("from", 0.0),
        end=table.span("until", lasts),
        priority=_priority(table, "priority"),
    )
    table.close()
    if arrival.end < arrival.start or (arrival.end == arrival.start and (has_rate or every)):
        raise table.wrong("until", "must be later than from")
    return arrival


def _timetable(every: str, zone: str) -> Timetable:
    """`1h`, `every 1h` or a cron line."""
    return Timetable.parse(every if " " in every else f"every {every}", zone)


def _rate(table: Table) -> float:
    """Jobs a second, from `15/s` or `1000000/d`."""
    window = table.parsed("rate", lambda: Window.parse(table.text("rate", "")))
    return window.count / window.seconds


def _outage(table: Table, kinds: Mapping[str, KindPlan], lasts: float) -> Outage:
    named = _known(table, "kinds", kinds, "the kind") or tuple(kinds)
    outage = Outage(kinds=named, start=table.span("from", 0.0), end=table.span("until", lasts))
    table.close()
    return outage


def _resources(table: Table) -> dict[str, int]:
    found = {name: table.whole(name, 0, 1, _MANY) for name in RESOURCES if table.has(name)}
    table.close()
    return found


def _known(table: Table, key: str, names: Mapping[str, object], noun: str) -> tuple[str, ...]:
    return tuple(table.known(key, name, names, noun) for name in table.names(key))


def _one(table: Table, key: str, names: Mapping[str, object]) -> str:
    """A name; where there is only one it need not be said."""
    only = next(iter(names)) if len(names) == 1 else ""
    if not only and not table.has(key):
        raise table.wrong(key, "is missing", f"Say which: {', '.join(list(names)[:10])}.")
    return table.known(key, table.text(key, only), names, f"{key}")


def _priority(table: Table, key: str) -> Priority | None:
    if not table.has(key):
        return None
    names = {priority.name.lower(): priority for priority in Priority}
    return names[table.known(key, table.text(key, ""), names, "the priority")]


def _epoch(top: Table, zone: str) -> float:
    """Where `start` is. Raises ValueError when the zone is not known here."""
    try:
        there = ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"no time zone {zone!r} here; write one like 'Asia/Seoul'") from None
    if not top.has("start"):
        moment = datetime.fromtimestamp(_PLAIN.epoch, UTC).replace(tzinfo=there)
        return moment.timestamp()
    value = top.raw("start")
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=there)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=there).timestamp()
    raise ValueError(f"write a moment without quotes, like 2026-01-05T08:00:00, not {value!r}")
