"""The sandbox's own API, under /_sandbox on every port: faults, the log and its summary."""

from collections.abc import Callable
from dataclasses import asdict

import msgspec

from dure.core.errors import DureError, NotFound
from dure_sandbox.exchange import Request, Response, json_bytes
from dure_sandbox.faults.active import Active, Faults
from dure_sandbox.faults.fault import fault_of
from dure_sandbox.log import Entry, Log

PREFIX = "/_sandbox"
LISTED_MAX = 10_000


class Control:
    def __init__(self, faults: Faults, log: Log, urls: Callable[[], dict[str, str]]) -> None:
        self._faults = faults
        self._log = log
        self._urls = urls

    def answer(self, request: Request) -> Response:
        try:
            return self._answer(request)
        except DureError as error:
            status = 404 if isinstance(error, NotFound) else 400
            return _json({"error": {"message": error.message, "hint": error.hint}}, status)

    def _answer(self, request: Request) -> Response:
        match request.method, request.path.removeprefix(PREFIX).strip("/").split("/"):
            case "GET", [""]:
                return _json({"urls": self._urls(), "requests": self._log.total})
            case "GET", ["faults"]:
                return _json([_active(each) for each in self._faults])
            case "POST", ["faults"]:
                return self._add(request)
            case "DELETE", ["faults"]:
                self._faults.clear()
                return _json([])
            case "DELETE", ["faults", number] if number.isascii() and number.isdigit():
                self._faults.remove(int(number))
                return _json([_active(each) for each in self._faults])
            case "GET", ["log"]:
                return _json([asdict(each) for each in self._found(request)])
            case "DELETE", ["log"]:
                self._log.clear()
                return _json([])
            case "GET", ["summary"]:
                told = self._log.summary()
                return _json({host: asdict(each) for host, each in told.items()})
        raise NotFound(
            f"The sandbox has no {request.method} {request.path}.",
            "There are /_sandbox, /_sandbox/faults, /_sandbox/log and /_sandbox/summary.",
        )

    def _add(self, request: Request) -> Response:
        """One fault or a list of them: all are switched on, or none."""
        try:
            given = msgspec.json.decode(request.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return _json({"error": {"message": f"This is not JSON: {error}.", "hint": ""}}, 400)
        faults = [fault_of(each) for each in (given if isinstance(given, list) else [given])]
        return _json({"added": [self._faults.add(each) for each in faults]}, 201)

    def _found(self, request: Request) -> list[Entry]:
        """The newest entries that the query asks for, oldest first."""
        query = request.query
        limit = query.get("limit", "1000")
        status = query.get("status", "")
        try:
            since = float(query.get("since", "0"))
        except ValueError:
            since = 0.0
        found = self._log.find(
            site=query.get("site"),
            host=query.get("host"),
            path=query.get("path"),
            status=int(status) if status.isascii() and status.isdigit() else None,
            fault=query.get("fault"),
            since=since,
        )
        most = int(limit) if limit.isascii() and limit.isdigit() else 1000
        return found[-min(max(most, 1), LISTED_MAX) :]


def _active(each: Active) -> dict[str, object]:
    return {
        "number": each.number,
        "begins_at": each.begins_at,
        "ends_at": each.ends_at,
        "matched": each.matched,
        "struck": each.struck,
        "fault": msgspec.to_builtins(each.fault),
    }


def _json(content: object, status: int = 200) -> Response:
    return json_bytes(msgspec.json.encode(content), status)
