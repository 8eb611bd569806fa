"""Giving a job other arguments: which ones it takes, and writing them down."""

import msgspec

from dure.core.decide import Cause, Refusal, decide
from dure.core.errors import IllegalTransition, KindInvalid
from dure.core.state import FINAL, Event, State
from dure.engine.desk import bulk
from dure.engine.kind import AnyKind, ChunkKind, Kind
from dure.ports.store import Script
from dure.scripts import audit, jobs
from dure.scripts.jobs import Record


def checked(record: Record, body: str, kind: AnyKind | None) -> str:
    """The arguments as they are stored; checked by the kind where it is declared."""
    try:
        arguments = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise KindInvalid(
            f"The new arguments of job {record.id} are not JSON: {error}.",
            """Write an object, like '{"url": "https://example.org"}'.""",
        ) from error
    if not isinstance(arguments, dict):
        raise KindInvalid(
            f"The arguments of a job are a JSON object, not {body[:80]!r}.",
            """Write them by name, like '{"url": "https://example.org"}'.""",
        )
    text = msgspec.json.encode(arguments).decode()
    try:
        match kind:
            case Kind():
                kind.arguments(text)
            case ChunkKind():
                kind.item(text)
    except KindInvalid as error:
        raise KindInvalid(
            f"The new arguments do not fit {record.kind!r}: {error.__cause__}.",
            "They must match the parameters of its function.",
        ) from error
    return text


def edit(record: Record, body: str, *, by: str, reason: str, now: float) -> Script[bool]:
    """Edit an unfinished job in place, or replay a finished one; with its audit entry."""
    if record.state in FINAL:
        move = decide(record, Cause(Event.REPLAY), bulk.NO_RETRIES, now, 0.0)
        if isinstance(move, Refusal):
            raise IllegalTransition(f"Job {record.id} cannot be edited: {move.sentence}.")
        done = yield from jobs.revive(record, move, record.stream, now=now, body=body)
    elif record.state is State.RUNNING:
        raise IllegalTransition(
            f"Job {record.id} is RUNNING with the arguments it was claimed with.",
            "Suspend or cancel it first.",
        )
    else:
        done = yield from jobs.edit_body(record.id, record.fence, record.state, body)
    if done:
        yield from audit.add(
            "jobs.edit",
            f"job {record.id}",
            by=by,
            reason=reason,
            now=now,
            before=record.body,
            after=body,
        )
    return done
