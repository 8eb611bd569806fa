"""Jobs over HTTP: look, resume, retry, replay dead letters, edit; the same commands as `dure jobs`.

An application mounts these routes under its own path and may narrow them to its own kinds.
Every change needs an admin and is in the audit under the actor's name.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dure.compose import App
from dure.core.duration import seconds_of
from dure.core.errors import ConfigError, NotFound
from dure.core.filter import JobFilter, Op, Term, Text
from dure.core.state import State
from dure.engine.desk.bulk import Result
from dure.scripts.jobs import Record
from dure.web.access import Access, Role

PAGE_MAX: Final = 200
_SPREAD_SECONDS_MAX: Final = 7 * 86400.0
_BY: Final = ("reason", "kind", "lane")


class Resume(Protocol):
    """An application's own way to let SUSPENDED jobs of one reason run again."""

    async def __call__(self, reason: str, *, by: str, note: str, spread: float) -> Result: ...


def job_routes(
    app: App, access: Access, *, kinds: Sequence[str] = (), resume: Resume | None = None
) -> list[Route]:
    """Routes to mount below an application's path. With `kinds` only jobs of these exist here.

    With `resume`, such as that of an AI desk, which also lifts what holds the jobs back, a
    resume takes a reason and nothing that would narrow it further.

    `POST resume?reason=`, `POST retry`, `GET dead-letters`, `POST dead-letters/replay`,
    `GET {id}`, `POST {id}/retry`, `PUT {id}/arguments`; all but the last two take `kind`,
    `lane`, `q` (a filter as of `dure jobs`) and, where jobs start, `spread`.
    """
    desk = _Desk(app, access, tuple(kinds), resume)
    return [
        Route("/resume", desk.resume, methods=["POST"]),
        Route("/retry", partial(desk.retry, states=None), methods=["POST"]),
        Route("/dead-letters", desk.dead_letters, methods=["GET"]),
        Route("/dead-letters/replay", partial(desk.retry, states=_DEAD), methods=["POST"]),
        Route("/{id:int}", desk.one, methods=["GET"]),
        Route("/{id:int}/retry", desk.retry_one, methods=["POST"]),
        Route("/{id:int}/arguments", desk.edit, methods=["PUT"]),
    ]


_DEAD: Final = (State.FAILED,)


class _Desk:
    """Translates requests into commands, and results into JSON."""

    def __init__(
        self, app: App, access: Access, kinds: tuple[str, ...], resume: Resume | None
    ) -> None:
        self._app = app
        self._access = access
        self._kinds = kinds
        self._resume = resume

    async def resume(self, request: Request) -> Response:
        """SUSPENDED jobs may run again, those of one reason or all, at once or spread."""
        actor = self._access.actor(request)
        note = f"{request.method} {request.url.path}"
        if self._resume is not None:
            asked = _asked(request, {"reason", "spread"})
            if "reason" not in asked:
                raise ConfigError("Which reason?", "Write resume?reason=QUOTA.")
            result = await self._resume(
                asked["reason"], by=actor.name, note=note, spread=_spread(asked)
            )
        else:
            asked = _asked(request, {*_BY, "q", "spread"})
            result = await self._app.commands.resume_jobs(
                self._wanted(asked), by=actor.name, reason=note, spread=_spread(asked)
            )
        return _done(result, resumed=result.applied)

    async def retry(self, request: Request, *, states: Sequence[State] | None) -> Response:
        """Waiting retries run now; what FAILED runs again."""
        actor = self._access.actor(request)
        asked = _asked(request, {*_BY, "q", "spread"})
        if states is None and not asked.keys() - {"spread"}:
            raise ConfigError("Retry which jobs?", "Give kind, lane, reason or q=state:failed.")
        result = await self._app.commands.retry(
            self._wanted(asked, states),
            by=actor.name,
            reason=f"{request.method} {request.url.path}",
            spread=_spread(asked),
        )
        return _done(result, retried=result.applied)

    async def dead_letters(self, request: Request) -> Response:
        """What FAILED for good, newest first, with why."""
        self._access.actor(request, needs=Role.READER)
        asked = _asked(request, {*_BY, "q", "limit", "before"})
        wanted = self._wanted(asked, _DEAD)
        limit = _number(asked, "limit", 50, 1, PAGE_MAX)
        before = _number(asked, "before", 0, 0, 2**63 - 1) or None
        records = await self._app.insights.jobs(wanted, limit=limit, after=before)
        count = await self._app.insights.count(wanted)
        return _json(
            {
                "count": count.jobs,
                "is_capped": count.is_capped,
                "jobs": [_shown(record) for record in records],
                "next": records[-1].id if len(records) == limit else None,
            }
        )

    async def one(self, request: Request) -> Response:
        """A job, its failed attempts, and why it is not running."""
        self._access.actor(request, needs=Role.READER)
        record = await self._job(request)
        attempts = await self._app.insights.attempts(record.id)
        explanation = await self._app.insights.why(record.id)
        return _json(
            {
                **_shown(record),
                "why": explanation.reason.sentence,
                "attempts": [
                    {
                        "attempt": each.attempt,
                        "event": str(each.event),
                        "error": each.error,
                        "ended_at": each.ended_at,
                    }
                    for each in attempts
                ],
            }
        )

    async def retry_one(self, request: Request) -> Response:
        """One job again."""
        actor = self._access.actor(request)
        _asked(request, set())
        record = await self._job(request)
        why = f"{request.method} {request.url.path}"
        result = await self._app.commands.retry([record.id], by=actor.name, reason=why)
        return _done(result, retried=result.applied)

    async def edit(self, request: Request) -> Response:
        """Other arguments for a job; a dead one runs again with them."""
        actor = self._access.actor(request)
        record = await self._job(request)
        text = await _body(request)
        why = f"{request.method} {request.url.path}"
        edited = await self._app.commands.edit(record.id, text, by=actor.name, reason=why)
        return _json(_shown(edited))

    async def _job(self, request: Request) -> Record:
        record = await self._app.insights.job(request.path_params["id"])
        if self._kinds and record.kind not in self._kinds:
            raise NotFound(f"There is no job {record.id} here.")
        return record

    def _wanted(self, asked: Mapping[str, str], states: Sequence[State] | None = None) -> JobFilter:
        terms = [Term(name, Op.EQ, (Text(asked[name]),)) for name in _BY if name in asked]
        if self._kinds:
            terms.append(Term("kind", Op.EQ, tuple(Text(kind) for kind in self._kinds)))
        if states is not None:
            terms.append(Term("state", Op.EQ, tuple(states)))
        try:
            return JobFilter((*JobFilter.parse(asked.get("q", "")).terms, *terms))
        except ValueError as error:
            raise ConfigError(f"The filter 'q' cannot be read: {error}.") from error


def _asked(request: Request, known: set[str]) -> dict[str, str]:
    """The query's parameters. Raises ConfigError: one that is misspelt must not mean "all"."""
    asked = dict(request.query_params)
    unknown = sorted(asked.keys() - known)
    if unknown:
        listed = ", ".join(sorted(known)) or "none"
        raise ConfigError(f"Unknown parameter {unknown[0]!r}.", f"Known are: {listed}.")
    empty = sorted(name for name, value in asked.items() if not value)
    if empty:
        raise ConfigError(f"The parameter {empty[0]!r} is empty.", "Leave it out to mean all.")
    return asked


def _spread(asked: Mapping[str, str]) -> float:
    try:
        seconds = seconds_of(asked.get("spread", "0s"))
    except ValueError as error:
        raise ConfigError(f"'spread' is no length of time: {error}.", "Write 10m.") from error
    if not 0 <= seconds <= _SPREAD_SECONDS_MAX:
        raise ConfigError("'spread' must be between nothing and 7d.")
    return seconds


def _number(asked: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = asked.get(name, str(default))
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise ConfigError(
            f"{name!r} must be a whole number from {least} to {most}, not {text[:40]!r}."
        )
    return int(text)


async def _body(request: Request) -> str:
    try:
        return (await request.body()).decode()
    except UnicodeDecodeError as error:
        raise ConfigError("The body is not UTF-8.") from error


def _shown(record: Record) -> dict[str, Any]:
    return {
        "id": record.id,
        "state": record.state.name,
        "kind": record.kind,
        "lane": record.lane,
        "priority": record.priority.name,
        "attempt": record.attempt,
        "reason": record.reason,
        "error": record.error,
        "due": record.due,
        "enqueued_at": record.enqueued_at,
        "finished_at": record.finished_at,
        "args": record.args,
    }


def _done(result: Result, **said: int) -> Response:
    notes = [{"job": note.job, "sentence": note.sentence} for note in result.notes]
    return _json({**said, "skipped": result.skipped, "refused": result.refused, "notes": notes})


def _json(document: object) -> Response:
    return Response(msgspec.json.encode(document), media_type="application/json")
