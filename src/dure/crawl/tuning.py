"""What may be changed while a crawl runs: checked here, stored, and taken up by every node."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dure.core.adaptive import Bounds
from dure.core.backoff import RetryPolicy
from dure.core.duration import seconds_of
from dure.core.errors import NotFound, SettingInvalid
from dure.crawl.spider import Spider
from dure.engine.kind import Kind
from dure.fetch.host import Host
from dure.ports.store import Script, Store
from dure.scripts import audit, crawls, names

if TYPE_CHECKING:
    from dure.crawl.presence import Presence

QUEUES: Final = ("frontier_max", "queue_max", "save_max")
CREWS: Final = ("crew", "parse", "save")
"""Who fetches, parses and saves, as `_low` and `_high` are written after it."""
SIZES: Final = {
    **dict.fromkeys(QUEUES, (1, 100_000)),
    **{f"{crew}_{end}": (1, 10_000) for crew in CREWS for end in ("low", "high")},
}
RETRIES: Final = ("attempts", "base", "factor", "cap", "jitter")
MANNERS: Final = ("delay", "concurrency")
FRACTIONS: Final = ("host.delay", "_base", "_factor", "_cap", "_jitter")
"""How keys end whose values may be anything between two whole numbers."""
RESOURCES: Final = ("http", "cpu", "memory", "db")


class Tuning(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Changed values of one spider, by the names people write."""

    values: dict[str, float] = {}


def change(tuning: Tuning, stages: Collection[str], key: str, text: str) -> Tuning:
    """The tuning with one value changed. Raises SettingInvalid saying what would be accepted.

    Keys: `STAGE.frontier_max`, `STAGE.queue_max`, `STAGE.save_max`; `STAGE.crew_low`, `_high`
    (also `parse_`, `save_`); `STAGE.retry_attempts`, `_base`, `_factor`, `_cap`, `_jitter`;
    `host.delay`, `host.concurrency`; and `http`, `cpu`, `memory`, `db` for places of a node.
    """
    value = _read(key, text)
    if not key.endswith(FRACTIONS) and isfinite(value) and value % 1:
        raise SettingInvalid(f"{key} cannot be {text}.", "It accepts a whole number.")
    where, _, name = key.rpartition(".")
    if where == "host" and name in MANNERS:
        low, high = (0.0, 86400.0) if name == "delay" else (1, 10_000)
    elif not where and name in RESOURCES:
        low, high = 1, 100_000
    elif where not in stages:
        raise _unknown(key, stages)
    elif name in SIZES:
        low, high = SIZES[name]
    elif name.startswith("retry_") and name.removeprefix("retry_") in RETRIES:
        return _checked_retry({**tuning.values, key: value}, where)
    else:
        raise _unknown(key, stages)
    if not low <= value <= high:
        raise SettingInvalid(f"{key} cannot be {text}.", f"It accepts {low:g}..{high:g}.")
    changed = {**tuning.values, key: value}
    _check_crews(changed, where)
    return Tuning(values=changed)


async def set_tuning(
    store: Store, spider: str, key: str, text: str, *, by: str, reason: str = ""
) -> Tuning:
    """Change one value of a spider on every node. Raises SettingInvalid, NotFound.

    Its stages are known from what its nodes say of themselves, and from its jobs.
    """
    kinds = await store.read(names.kind_names())
    stages = {
        name.removeprefix(f"{spider}.")
        for name in kinds.values()
        if name.startswith(f"{spider}.") and not name.endswith(".parse")
    }
    if not stages:
        raise NotFound(f"There is no spider {spider!r} here.", "Run it once, or check the name.")
    texts = await store.read(crawls.tuning())
    before = texts.get(spider, "")
    tuning = change(
        msgspec.json.decode(before, type=Tuning) if before else Tuning(), stages, key, text
    )
    after, now = msgspec.json.encode(tuning).decode(), await store.now()
    await store.run(_written(spider, before, after, by=by, reason=reason, now=now))
    return tuning


def _written(
    spider: str, before: str, after: str, *, by: str, reason: str, now: float
) -> Script[None]:
    yield from crawls.write_tuning(spider, after, now)
    yield from audit.add(
        "crawl.set", f"spider {spider}", by=by, reason=reason, now=now, before=before, after=after
    )


def apply_tuning(
    tuning: Tuning, spider: Spider, presence: "Presence", kinds: Mapping[str, Kind[Any, Any]]
) -> None:
    """Take the values up on one node."""
    values = tuning.values
    for name, stage in spider.stages.items():
        line = presence.lines[stage.kind]
        sizes = (stage.crew, stage.parse_crew, stage.save_crew)
        for crew, size, word in zip(line.crews, sizes, CREWS, strict=True):
            high = int(values.get(f"{name}.{word}_high", size.high))
            low = int(values.get(f"{name}.{word}_low", min(size.low, high)))
            crew.resize(low, max(low, high))
        line.parse.queue.resize(int(values.get(f"{name}.queue_max", stage.queue_max)))
        line.save.queue.resize(int(values.get(f"{name}.save_max", stage.save_max)))
        if f"{name}.frontier_max" in values:
            line.frontier.capacity = int(values[f"{name}.frontier_max"])
        kind = kinds[stage.kind]
        kind.terms = replace(kind.terms, retry=_retry(values, name, stage.retry))
    for name in RESOURCES:
        if name in values:
            places = int(values[name])
            presence.meter.bounds[name] = Bounds(1, places)
            presence.meter.given[name] = presence.node.pacer.resources[name].size = places
    presence.manners = {name: values[k] for name in MANNERS if (k := f"host.{name}") in values}
    for door in presence.bench.doors.values():
        treat(door.host, presence.manners)
        door.reopen()


def treat(host: Host, manners: Mapping[str, float]) -> None:
    """Treat a host by changed manners."""
    if manners:
        own = host.manners
        changed = {name: type(getattr(own, name))(value) for name, value in manners.items()}
        host.manners = replace(own, **changed)


def _read(key: str, text: str) -> float:
    try:
        if key.endswith(("delay", "_base", "_cap")):
            return seconds_of(text)
        return float(text)
    except ValueError as error:
        raise SettingInvalid(f"{key} cannot be {text!r}: {error}.", "Give a number.") from error


def _check_crews(values: Mapping[str, float], stage: str) -> None:
    """What was changed must fit; a bound that was not follows the other one."""
    for word in CREWS:
        names = (f"{stage}.{word}_low", f"{stage}.{word}_high")
        if set(names) <= values.keys() and values[names[0]] > values[names[1]]:
            low, high = (f"{values[name]:g}" for name in names)
            raise SettingInvalid(
                f"{names[0]} ({low}) must not exceed {names[1]} ({high}).",
                "Change the other one first.",
            )


def _checked_retry(values: dict[str, float], stage: str) -> Tuning:
    try:
        _retry(values, stage, RetryPolicy())
    except ValueError as error:
        raise SettingInvalid(f"{stage} cannot retry like that: {error}.") from error
    return Tuning(values=values)


def _retry(values: Mapping[str, float], stage: str, own: RetryPolicy) -> RetryPolicy:
    """The stage's policy with what was changed; a changed one has one phase."""
    given = {name: values[k] for name in RETRIES if (k := f"{stage}.retry_{name}") in values}
    if not given:
        return own
    first = own.phases[0]
    return RetryPolicy.of(
        int(given.get("attempts", own.max_attempts)),
        base=given.get("base", first.base),
        factor=given.get("factor", first.factor),
        cap=given.get("cap", first.cap),
        jitter=given.get("jitter", first.jitter),
    )


def _unknown(key: str, stages: Collection[str]) -> SettingInvalid:
    return SettingInvalid(
        f"There is no setting {key!r}.",
        f"Write http, cpu, memory, db, host.delay, host.concurrency, or one of a stage "
        f"({', '.join(sorted(stages))}): {', '.join(SIZES)}, "
        f"{', '.join(f'retry_{each}' for each in RETRIES)}.",
    )
