"""One ask from its input to its value: look up, set aside, send, judge, read, write down."""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

import msgspec

from dure.ai import budget as budgets, records, suspension
from dure.ai.budget import Spent
from dure.ai.estimate import FRAME_TOKENS, raw
from dure.ai.prompt import Prompt
from dure.ai.provider import Answer, Question, Usage
from dure.ai.reading import Slip, read
from dure.ai.records import Before, Call, Hold
from dure.ai.stop import AiError, Refused, Rejected, Suspended, Throttled, Transient
from dure.ai.verdict import Disposition, Reason, Scope, Verdict
from dure.core.errors import NotFound, Refused as NoJob
from dure.core.outcome import Write
from dure.engine.attempts.context import Attempt, current
from dure.ports.store import Hint
from dure.scripts import limits

if TYPE_CHECKING:
    from dure.ai.desk import Desk

T = TypeVar("T")

THROTTLE_SECONDS: Final = 30.0
"""How long a limit is blocked when the provider does not say."""
ASIDE_SECONDS: Final = 5.0
"""How long a call waits for money that is set aside for others."""
THROTTLE_SECONDS_MAX: Final = 86400.0
SLIPS_MAX: Final = 2
"""Answers that do not fit are asked for again so often."""
_OUTPUT_GROWTH: Final = 2
_NOBODY: Final = Attempt(
    job=0,
    fence=0,
    number=1,
    kind="",
    lane="default",
    enqueued_at=0.0,
    session=None,
    batch=None,
    parent=None,
)


class Done(NamedTuple, Generic[T]):
    """A value, and what it took."""

    value: T
    usage: Usage
    cost: int
    is_cached: bool
    model: str
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Aside:
    """Money set aside for one call."""

    day: str
    amount: int
    names: tuple[str, ...]


class Asking(Generic[T]):
    """One ask of a desk."""

    def __init__(self, desk: "Desk", prompt: Prompt[T], text: str) -> None:
        self._desk = desk
        self._prompt = prompt
        self._text = text
        self._store = desk.app.store
        self._provider = desk.provider
        try:
            self._attempt = current()
        except NoJob:
            self._attempt = _NOBODY

    async def run(self) -> Done[T]:
        prompt, provider = self._prompt, self._provider
        before = await self._before()
        if before.kept is not None:
            return self._from_cache(before.kept)
        text, question = self._question(before.shrunk)
        expected = raw(prompt.system) + raw(text) + FRAME_TOKENS
        ratio = self._desk.estimator.ratio(provider.model, self._attempt.kind)
        usage = Usage(input=ratio.reserve(expected), output=question.output_max)
        self._refuse_giants(provider.tokens(usage))
        aside = await self._set_aside(usage)
        try:
            answer = await provider.ask(question)
        except BaseException:  # stopped under way: it may have been billed in full
            self._settle(aside, aside.amount if aside else 0)
            raise
        cost = self._desk.price_of(answer.model or provider.model).cost(
            answer.usage.input, answer.usage.output, answer.usage.cached
        )
        is_doubtful = answer.verdict is not None and answer.verdict.billed and not cost
        self._settle(aside, aside.amount if aside and is_doubtful else cost)
        if answer.usage.input:
            self._desk.estimator.learn(
                provider.model, self._attempt.kind, expected, answer.usage.input
            )
        call = self._call(answer, cost, round(expected))
        if answer.verdict is not None:
            await self._stop(answer.verdict, call, before.shrunk)
        try:
            value = read(prompt, answer.text)
        except Slip as slip:
            await self._store.run(
                records.keep(replace(call, disposition="slip", code="slip"), None, "")
            )
            raise self._slipped(str(slip)) from slip
        await self._store.run(records.keep(call, self._key(), answer.text))
        return Done(value, answer.usage, cost, False, call.model, ())

    async def _before(self) -> Before:
        """What is known, and a stop where nothing may be sent."""
        now = self._desk.app.store_clock.now()
        before = await self._store.read(
            records.before(
                self._key(),
                [self._scope(scope) for scope in Scope],
                self._desk.name,
                job=self._attempt.job if self._attempt.number > 1 else 0,
                prompt=self._prompt.name,
                now=now,
            )
        )
        if before.hold is not None:
            raise Suspended(before.hold.reason, before.hold.why)
        if before.blocked is not None:
            raise Throttled("the limit is blocked", before.blocked - now)
        return before

    def _key(self) -> str | None:
        if not self._prompt.is_cached:
            return None
        prompt, provider = self._prompt, self._provider
        parts = (
            *(provider.account, provider.model, prompt.name, str(prompt.version)),
            *(prompt.schema_hash, prompt.system, str(prompt.temperature), self._text),
        )
        return sha256(msgspec.json.encode(parts)).hexdigest()

    def _scope(self, scope: Scope) -> str:
        return suspension.scope_name(
            scope,
            account=self._provider.account,
            model=self._provider.model,
            kind=self._attempt.kind,
            lane=self._attempt.lane,
        )

    def _from_cache(self, kept: records.Kept) -> Done[T]:
        try:
            value = read(self._prompt, kept.text)
        except Slip as slip:
            raise Rejected(f"{slip}; it was kept before: raise the prompt's version") from slip
        call = replace(self._call(Answer(model=kept.model), 0, 0), disposition="cached")
        return Done(value, kept.usage, 0, True, kept.model, (call.write(),))

    def _question(self, shrunk: frozenset[str]) -> tuple[str, Question]:
        prompt = self._prompt
        text = prompt.shrink(self._text) if "input" in shrunk else self._text
        grown = _OUTPUT_GROWTH if "output" in shrunk else 1
        return text, Question(
            name=prompt.name,
            system=prompt.system,
            text=text,
            schema=prompt.schema,
            output_max=prompt.output_max * grown,
            temperature=prompt.temperature,
            task=prompt.task,
            key=f"{self._attempt.idempotency_key}-{prompt.label}",
        )

    def _refuse_giants(self, tokens: int) -> None:
        for window in self._desk.limit.windows:
            if window.unit == "tokens" and tokens > window.count:
                raise Rejected(
                    f"this request needs about {tokens} tokens, but its limit allows "
                    f"{window.name}: shorten the input, lower output_max, or raise the limit"
                )

    async def _set_aside(self, usage: Usage) -> Aside | None:
        """Reserve the worst case; suspend instead of overspending."""
        desk, budget = self._desk, self._desk.budget
        if budget is None:
            return None
        now = desk.app.store_clock.now()
        day = budgets.day_of(now, budget.tz)
        amount = desk.price_of(self._provider.model).cost(usage.input, usage.output)
        lines = budgets.lines_of(budget, self._provider.account, self._attempt.lane)
        await desk.settle()
        spent = await self._store.run(budgets.reserved(lines, day, amount, now))
        if isinstance(spent, Spent):
            whose = f"lane {self._attempt.lane!r}" if spent.line.is_lane else "the account"
            why = (
                f"today's budget of {whose} has {max(spent.left, 0) / 1e9:.6f} left, "
                f"this call may cost {amount / 1e9:.6f}"
            )
            if spent.may_come_back:
                raise Throttled(f"{why}; more is set aside for others", ASIDE_SECONDS)
            scope = Scope.LANE if spent.line.is_lane else Scope.ACCOUNT
            until = budgets.midnight_after(now, budget.tz)
            raise await self._suspend(Reason.BUDGET, scope, why, until)
        return Aside(day, amount, tuple(line.name for line in lines))

    def _settle(self, aside: Aside | None, cost: int) -> None:
        """Of what was set aside, this was spent."""
        if aside is None:
            return
        for name in aside.names:
            self._desk.ended(name, aside.day, aside.amount, cost)

    def _call(self, answer: Answer, cost: int, expected: int) -> Call:
        attempt, prompt = self._attempt, self._prompt
        return Call(
            at=self._desk.app.store_clock.now(),
            job=attempt.job,
            fence=attempt.fence,
            attempt=attempt.number,
            kind=attempt.kind,
            lane=attempt.lane,
            account=self._provider.account,
            model=answer.model or self._provider.model,
            prompt=prompt.name,
            version=prompt.version,
            schema=prompt.schema_hash,
            disposition="done",
            input=answer.usage.input,
            output=answer.usage.output,
            cached=answer.usage.cached,
            estimated=expected,
            cost=cost,
        )

    def _slipped(self, why: str) -> AiError:
        if self._attempt.number > SLIPS_MAX:
            return Rejected(f"{why} (after {self._attempt.number} attempts)")
        return Transient(why, counts=False)

    async def _stop(self, verdict: Verdict, call: Call, shrunk: frozenset[str]) -> None:
        """Carry a verdict out. Always raises."""
        part = "output" if verdict.param == "output" else "input"
        is_shrink = verdict.disposition is Disposition.SHRINK
        code = part if is_shrink else verdict.code
        kept = replace(call, disposition=verdict.disposition.value, code=code[:200])
        await self._store.run(records.keep(kept, None, ""))
        match verdict.disposition:
            case Disposition.RETRY:
                raise Transient(verdict.why, after=verdict.after, counts=verdict.opens_breaker)
            case Disposition.THROTTLE:
                raise await self._throttle(verdict)
            case Disposition.SUSPEND:
                scope, reason = verdict.scope or Scope.ACCOUNT, verdict.reason or Reason.CONFIG
                raise await self._suspend(reason, scope, verdict.why, self._until(verdict))
            case Disposition.REFUSED:
                raise Refused(verdict.why)
            case Disposition.SHRINK:
                if part in shrunk:
                    raise Rejected(f"{verdict.why} (also after it was made smaller)")
                raise Transient(verdict.why, counts=False)
            case Disposition.FAIL:
                raise await self._failed(verdict)

    async def _failed(self, verdict: Verdict) -> AiError:
        """One request is wrong; or all of its kind are, if five different ones were."""
        if verdict.code and self._attempt.kind:
            now = self._desk.app.store_clock.now()
            text = sha256(self._text.encode()).hexdigest()[:16]
            complaint = f"{verdict.code} {verdict.param}"
            count = await self._store.run(
                suspension.complained(self._attempt.kind, complaint, text, now)
            )
            if count >= suspension.STORM_INPUTS:
                why = f"{count} different inputs were refused alike: {verdict.why}"
                return await self._suspend(Reason.CONFIG, Scope.KIND, why, None)
        return Rejected(verdict.why)

    async def _throttle(self, verdict: Verdict) -> AiError:
        now = self._desk.app.store_clock.now()
        seconds = THROTTLE_SECONDS if verdict.after is None else verdict.after
        seconds = min(max(seconds, 0.05), THROTTLE_SECONDS_MAX)
        try:
            await self._store.run(limits.block(self._desk.name, now + seconds, now))
            if verdict.slower:
                await self._store.run(suspension.slow_down(self._desk.name, 0.5, now))
        except NotFound:
            pass  # an operator has removed the limit; the job waits all the same
        return Throttled(verdict.why, seconds)

    def _until(self, verdict: Verdict) -> float | None:
        now = self._desk.app.store_clock.now()
        match verdict.until:
            case "midnight" if verdict.after is not None and verdict.after > 3600.0:
                return now + verdict.after
            case "midnight":
                return budgets.midnight_after(now, self._desk.day)
            case "month":
                return budgets.month_after(now)
            case _:
                return None

    async def _suspend(
        self, reason: Reason, scope: Scope, why: str, until: float | None
    ) -> AiError:
        """Close the scope for everybody, then this job."""
        now = self._desk.app.store_clock.now()
        name = self._scope(scope)
        hold = Hold(reason=reason, why=why, at=now, until=until)
        is_new = await self._store.run(
            suspension.put(
                name,
                hold,
                gates=self._desk.gates_of(name),
                kind=self._attempt.kind if scope is Scope.KIND else None,
                now=now,
            )
        )
        if is_new:
            await self._store.hint(Hint("control"))
        return Suspended(reason, why)
