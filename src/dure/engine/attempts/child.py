"""The other end of a process handler: runs one call after another until its input closes.

A node that closes its end, by dying or otherwise, ends this process in the middle of
whatever it does: no answer could be delivered any more.

Whatever a handler prints goes to standard error; standard output belongs to the frames.
"""

import importlib
import importlib.util
import os
import sys
import threading
from functools import cache
from queue import SimpleQueue
from types import ModuleType
from typing import Any, NoReturn

import msgspec

from dure.engine.attempts.context import CURRENT
from dure.engine.attempts.disposition import describe, outcome_of, outcome_of_error
from dure.engine.attempts.frames import Answer, Call, Hello, answer_of, pack, read_frame_blocking
from dure.engine.kind import Kind


def main() -> NoReturn:
    """Serve calls from standard input."""
    frames = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(calls,), name="dure-calls", daemon=True).start()
    message: Hello | Answer = Hello(os.getpid())
    while True:
        try:
            frames.write(pack(message))
            frames.flush()
        except BrokenPipeError:
            os._exit(1)
        message = _serve(msgspec.json.decode(calls.get(), type=Call))


def _receive(calls: SimpleQueue[bytes]) -> NoReturn:
    """Pass calls on; when the node is gone, so is everybody who waits for a running one."""
    while (frame := read_frame_blocking(sys.stdin.buffer)) is not None:
        calls.put(frame)
    os._exit(1)


def _serve(call: Call) -> Answer:
    try:
        kind = _find(call)
        args, kwargs = kind.arguments(call.body)
    except Exception as error:  # a job that cannot be started must not end the child
        return Answer(error=describe(error), error_type=type(error).__name__)
    CURRENT.set(call.attempt)
    try:
        outcome = outcome_of(kind.fn(*args, **kwargs))
    except (Exception, SystemExit) as error:  # the kind's rules say what it means
        outcome = outcome_of_error(error, kind.terms)
    try:
        return answer_of(outcome)
    except (TypeError, ValueError) as error:
        return Answer(error=f"the outcome cannot be stored as JSON: {error}")


@cache
def _script(path: str) -> ModuleType:
    """The module of a script, loaded under another name so that its main part does not run."""
    spec = importlib.util.spec_from_file_location("__dure_main__", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load {path!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _find(call: Call) -> Kind[Any, Any]:
    found: Any = _script(call.path) if call.path else importlib.import_module(call.module)
    for part in call.qualname.split("."):
        found = getattr(found, part)
    if not isinstance(found, Kind):
        raise TypeError(
            f"{call.module}.{call.qualname} is not the declared kind {call.attempt.kind!r}"
        )
    return found


if __name__ == "__main__":
    main()
