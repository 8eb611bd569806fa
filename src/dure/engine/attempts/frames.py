"""What a node and its child processes say to each other: length-prefixed JSON."""

import asyncio
import struct
from dataclasses import replace
from typing import Any, BinaryIO, Final

import msgspec

from dure.core.errors import TooLarge
from dure.core.job import Job, Options
from dure.core.outcome import Done, Fail, Guard, Outcome, Retry, Skip, Stale, Suspend, Wait, Write
from dure.engine.attempts.context import Attempt

FRAME_BYTES_MAX: Final = 256 << 20
_LENGTH: Final = struct.Struct(">I")
_TYPES: Final = {cls.__name__: cls for cls in (Done, Retry, Wait, Suspend, Stale, Skip, Fail)}


class Hello(msgspec.Struct):
    """The child is ready."""

    pid: int


class Call(msgspec.Struct):
    """Run this function of this module with these stored arguments."""

    module: str
    path: str
    """Where the module is when it was run as a script and has no name to import."""
    qualname: str
    body: str
    attempt: Attempt
    """What `dure.current()` answers there."""


class Answer(msgspec.Struct):
    """An outcome by name with its fields, or an error."""

    name: str = ""
    fields: dict[str, Any] = {}  # msgspec copies mutable defaults
    error: str | None = None
    error_type: str = ""

    def outcome(self) -> Outcome:
        """The outcome value this answer stands for."""
        fields = dict(self.fields)
        if self.name == "Done":
            fields["writes"] = [msgspec.convert(w, Write) for w in fields.get("writes", [])]
            fields["then"] = [_job(j) for j in fields.get("then", [])]
            guard = fields.get("guard")
            fields["guard"] = None if guard is None else msgspec.convert(guard, Guard)
        outcome: Outcome = _TYPES[self.name](**fields)
        return outcome


def _job(fields: dict[str, Any]) -> Job:
    return Job(fields["kind"], fields["body"], Options.from_dict(fields["how"]))


def answer_of(outcome: Outcome) -> Answer:
    """An outcome as something that can be sent. Raises TypeError for what JSON cannot hold."""
    if not isinstance(outcome, Done):
        return Answer(type(outcome).__name__, msgspec.to_builtins(outcome))
    then = [{"kind": j.kind, "body": j.body, "how": j.how.to_dict()} for j in outcome.then]
    plain = replace(outcome, then=())
    return Answer("Done", {**msgspec.to_builtins(plain), "then": then})


def pack(message: msgspec.Struct) -> bytes:
    """One frame. Raises TooLarge."""
    payload = msgspec.json.encode(message)
    if len(payload) > FRAME_BYTES_MAX:
        raise TooLarge(
            f"A message of {len(payload)} bytes is more than the {FRAME_BYTES_MAX} allowed.",
            "Keep large results in a file or a table and return a reference.",
        )
    return _LENGTH.pack(len(payload)) + payload


async def read_frame(stream: asyncio.StreamReader) -> bytes:
    """The next frame from a child."""
    (size,) = _LENGTH.unpack(await stream.readexactly(_LENGTH.size))
    return await stream.readexactly(size)


def read_frame_blocking(stream: BinaryIO) -> bytes | None:
    """The next frame in a child; None when the node has closed the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    return stream.read(size)
