"""What is kept of asks: a ledger of calls, and the answers that were paid for."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import msgspec

from dure.ai.provider import Usage
from dure.core import allowance
from dure.core.allowance import Booked
from dure.core.outcome import Write
from dure.ports.rows import Query
from dure.ports.store import Script
from dure.scripts import cells, limits

SUSPENSIONS: Final = "ai.suspension"

_CALL: Final = (
    "insert into dure_ai_call (at, job, fence, attempt, kind, lane, account, model, prompt, "
    "version, schema, disposition, code, input, output, cached, estimated, cost) values (:at, "
    ":job, :fence, :attempt, :kind, :lane, :account, :model, :prompt, :version, :schema, "
    ":disposition, :code, :input, :output, :cached, :estimated, :cost)"
)
_KEEP: Final = (
    "insert into dure_ai_answer (key, at, model, text, input, output) "
    "values (:key, :at, :model, :text, :input, :output) on conflict (key) do nothing"
)
_FIND: Final = "select model, text, input, output from dure_ai_answer where key = :key"
_SHRUNK: Final = (
    "select code from dure_ai_call where job = :job and prompt = :prompt and disposition = 'shrink'"
)
_OLD_ANSWERS: Final = (
    "delete from dure_ai_answer where key in (select key from dure_ai_answer "
    "where at < :before order by at limit :most)"
)
_OLDEST_KEPT: Final = "select at from dure_ai_answer order by at desc limit 1 offset :keep"
_OLD_CALLS: Final = "delete from dure_ai_call where at < :before"
_SPENT: Final = (
    "select kind, lane, model, disposition, count(*) as calls, "
    "cast(sum(input) as bigint) as input, cast(sum(output) as bigint) as output, "
    "cast(sum(cost) as bigint) as cost from dure_ai_call where at >= :since and at < :before "
    "group by kind, lane, model, disposition order by kind, lane, model, disposition"
)
_RECENT: Final = (
    "select model, kind, estimated, input from dure_ai_call "
    "where account = :account and disposition = 'done' and estimated > 0 "
    "order by at desc limit 500"
)
_PRUNE_MAX: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One attempt that reached a provider, or an answer from the cache."""

    at: float
    job: int
    fence: int
    attempt: int
    kind: str
    lane: str
    account: str
    model: str
    prompt: str
    version: int
    schema: str
    disposition: str
    """`done`, `cached`, `slip`, or the verdict's."""
    code: str = ""
    input: int = 0
    output: int = 0
    cached: int = 0
    estimated: int = 0
    """Input tokens that were expected."""
    cost: int = 0
    """Billionths of the currency's unit."""

    def write(self) -> Write:
        """As part of a job's outcome."""
        return Write(_CALL, asdict(self))


class Kept(NamedTuple):
    """An answer that was paid for."""

    model: str
    text: str
    usage: Usage


class Hold(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing is asked in a scope, and until when."""

    reason: str
    why: str
    at: float
    until: float | None = None
    """None: until somebody resumes it."""
    is_swept: bool = False
    """Whether the waiting jobs have been SUSPENDED."""


class Before(NamedTuple):
    """What has to be known before asking."""

    kept: Kept | None
    hold: Hold | None
    blocked: float | None
    """Until when the limit grants nothing."""
    shrunk: frozenset[str]
    """What was made smaller for this job: `input`, `output`."""


def before(
    key: str | None, scopes: Sequence[str], limit: str, *, job: int, prompt: str, now: float
) -> Script[Before]:
    """Look everything up in one transaction. `job` is 0 at a first attempt."""
    kept = None
    if key is not None:
        for row in (yield Query("ai answer", {"key": key}, text=_FIND)):
            kept = Kept(row["model"], row["text"], Usage(input=row["input"], output=row["output"]))
    if kept is not None:
        return Before(kept, None, None, frozenset())
    texts = yield from cells.read(SUSPENSIONS, scopes)
    holds = [hold for hold in map(hold_of, texts.values()) if (hold.until or now + 1) > now]
    booked = (yield from cells.read(limits.BOOKINGS, [limit])).get(limit)
    blocked = None
    if booked:
        blocked = allowance.blocked_until(msgspec.json.decode(booked, type=Booked), now)
    rows = []
    if job:
        rows = yield Query("ai shrunk", {"job": job, "prompt": prompt}, text=_SHRUNK)
    shrunk = frozenset(row["code"] for row in rows)
    return Before(None, holds[0] if holds else None, blocked, shrunk)


def keep(call: Call, key: str | None, text: str) -> Script[None]:
    """Write a call down, and the answer it paid for."""
    yield Query("ai call", asdict(call), text=_CALL)
    if key is not None:
        params = {
            "key": key,
            "at": call.at,
            "model": call.model,
            "text": text,
            "input": call.input,
            "output": call.output,
        }
        yield Query("ai keep", params, text=_KEEP)


def prune(*, calls_before: float, answers_before: float, answers_max: int) -> Script[None]:
    """Forget what is old, and the oldest answers where there are too many."""
    yield Query("ai prune calls", {"before": calls_before}, text=_OLD_CALLS)
    rows = yield Query("ai oldest", {"keep": answers_max}, text=_OLDEST_KEPT)
    border = max([answers_before, *(row["at"] for row in rows)])
    yield Query("ai prune", {"before": border, "most": _PRUNE_MAX}, text=_OLD_ANSWERS)


class Account(NamedTuple):
    """What one kind in one lane has asked of one model, and what became of it."""

    kind: str
    lane: str
    model: str
    disposition: str
    calls: int
    input: int
    output: int
    cost: int


def spent(since: float, until: float) -> Script[list[Account]]:
    """The accounts of a time, by kind, lane, model and disposition."""
    rows = yield Query("ai spent", {"since": since, "before": until}, text=_SPENT)
    return [Account(*(row[name] for name in Account._fields)) for row in rows]


def recent(account: str) -> Script[list[tuple[str, str, int, int]]]:
    """Model, kind, estimated and real input of the latest calls, oldest first."""
    rows = yield Query("ai recent", {"account": account}, text=_RECENT)
    found = [(row["model"], row["kind"], row["estimated"], row["input"]) for row in rows]
    return found[::-1]


def hold_of(text: str) -> Hold:
    """A stored suspension."""
    return msgspec.json.decode(text, type=Hold)


def text_of(value: Hold | Mapping[str, Any]) -> str:
    """A cell's text."""
    return msgspec.json.encode(value).decode()
