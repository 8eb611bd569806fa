"""The desk: one account's model behind limits, a breaker, budgets, accounts and a cache.

ai = dure.ai.Desk(app, provider=provider, limits=("15/m", "1500/d", "1000000 tokens/m"))

@app.kind(**ai.terms())
async def summarise(article: int, text: str) -> dure.Outcome:
    reply = await ai.ask(SUMMARY, text)
    return dure.Done(writes=[..., *reply.writes], used=reply.used)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from dure.ai import budget as budgets, records, suspension
from dure.ai.asking import Asking
from dure.ai.budget import Budget, Counter
from dure.ai.estimate import FRAME_TOKENS, Estimator, raw
from dure.ai.price import FREE, Price
from dure.ai.prompt import Prompt
from dure.ai.provider import Provider, Usage
from dure.ai.records import Account, Hold
from dure.ai.stop import ERRORS
from dure.core.backoff import Backoff, RetryPolicy
from dure.core.duration import Span, seconds_of
from dure.core.errors import ConfigError
from dure.core.filter import JobFilter, Op, Term, Text
from dure.core.outcome import Write
from dure.core.state import State
from dure.engine.declare import Declarations
from dure.engine.desk.bulk import Result
from dure.engine.desk.commands import Commands
from dure.engine.kind import ErrorRule
from dure.engine.store_clock import StoreClock
from dure.ports.store import Hint, Store

T = TypeVar("T")

RETRY_DEFAULT: Final = RetryPolicy(
    max_attempts=5, phases=(Backoff(base=30.0, factor=2.0, cap=3600.0),)
)
RUNNING_MAX: Final = 256
"""Asks at once over all nodes, where a limit says nothing about it."""
ANSWERS_MAX: Final = 200_000
_TICK_SECONDS: Final = 1.0
_PRUNE_SECONDS: Final = 600.0
_RAMP_SECONDS: Final = 900.0
_RAMP_FACTOR: Final = 1.5


class Host(Declarations):
    """What a desk needs of an app."""

    store: Store
    store_clock: StoreClock


_DESKS: Final["WeakKeyDictionary[Declarations, list[Desk]]"] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Generic[T]):
    """A validated answer, and what it took."""

    value: T
    usage: Usage
    cost: int
    """Billionths of the currency's unit; 0 when it came from the cache."""
    is_cached: bool
    model: str
    """Who really answered, with its version where it has one."""
    prompt: str
    """`SUMMARY@3`."""
    schema: str
    tokens: int
    """What the token limit counts of it."""
    writes: Sequence[Write] = ()
    """What commits with the job's outcome: the use of an answer from the cache."""

    @property
    def used(self) -> Mapping[str, int]:
        """For `Done(used=...)`: settles what was reserved on the limits."""
        return {"tokens": self.tokens}


class Desk:
    """Asks one model of one account, for the kinds that were declared with its `terms`."""

    def __init__(
        self,
        app: Any,
        *,
        provider: Provider,
        limits: str | Sequence[str] = (),
        prices: Price | Mapping[str, Price] = FREE,
        budget: Budget | None = None,
        max_running: int = RUNNING_MAX,
        day: str = "UTC",
        keep_answers: Span = "30d",
        keep_calls: Span = "400d",
        answers_max: int = ANSWERS_MAX,
    ) -> None:
        self.app: Host = app
        self.provider = provider
        self.name = f"ai {provider.account} {provider.model}"
        """Of its limit and of its breaker."""
        self.budget = budget
        self.day = day
        """The time zone in which the provider's daily quotas begin anew."""
        budgets.zone(day)
        self._prices = prices
        self._keep = (seconds_of(keep_answers), seconds_of(keep_calls), answers_max)
        self.windows = (limits,) if isinstance(limits, str) else tuple(limits)
        self.estimator = Estimator()
        self._ended: dict[tuple[str, str], tuple[int, int]] = {}
        """What was set aside and spent, as the store was not told yet."""
        self._pruned_at = self._ramped_at = -_PRUNE_SECONDS
        self._has_learnt = False
        desks = _DESKS.setdefault(app, [])
        if any(desk.name == self.name for desk in desks):
            raise ConfigError(
                f"There is a desk for {self.name!r} already.", "Share it, or name another account."
            )
        self.limit = app.limit(self.name, *self.windows, max_running=max_running)
        app.migrations("dure.ai", files("dure.ai") / "migrations")
        app.duty(self.name, self._tick)
        app.closers[self.name] = provider.close
        desks.append(self)

    def price_of(self, model: str) -> Price:
        """What a model costs; an unknown one is a mistake when prices are listed."""
        if isinstance(self._prices, Price):
            return self._prices
        found = self._prices.get(model) or self._prices.get(self.provider.model)
        if found is None:
            raise ConfigError(
                f"No price is given for the model {model!r}.",
                f"Add it to prices, which name {', '.join(self._prices) or 'none'}.",
            )
        return found

    def terms(
        self,
        *,
        timeout: Span | None = "25s",
        retry: RetryPolicy | int | None = None,
        tokens: int | None = None,
        prompt: Prompt[Any] | None = None,
        characters: int = 3000,
        errors: Mapping[type[BaseException], ErrorRule] | None = None,
        limits: str | Sequence[str] = (),
        **others: Any,
    ) -> dict[str, Any]:
        """What to declare a kind with: `@app.kind(**ai.terms())`.

        `tokens` are reserved for each job before it is claimed and settled afterwards; without
        them they are estimated from `prompt` and a typical input of so many Korean `characters`.
        The provider has its own time-out of 20 s, so that it is judged before this one ends all.
        """
        if tokens is None:
            output = 0 if prompt is None else prompt.output_max
            system = 0.0 if prompt is None else raw(prompt.system)
            asked = round(system + characters * 0.75) + FRAME_TOKENS
            tokens = self.provider.tokens(Usage(input=asked, output=output))
        more = (limits,) if isinstance(limits, str) else tuple(limits)
        return {
            "timeout": timeout,
            "retry": RETRY_DEFAULT if retry is None else retry,
            "limits": (self.name, *more),
            "tokens": tokens if self.counts_tokens else 0,
            "breaker": self.name,
            "errors": {**ERRORS, **(errors or {})},
            **others,
        }

    @property
    def counts_tokens(self) -> bool:
        """Whether a limit counts them."""
        return any(window.unit == "tokens" for window in self.limit.windows)

    async def ask(self, prompt: Prompt[T], *inputs: Any, **named: Any) -> Reply[T]:
        """Ask once, within limits and budgets. Raises AiError, which a handler lets pass."""
        done = await Asking(self, prompt, prompt.render(*inputs, **named)).run()
        return Reply(
            value=done.value,
            usage=done.usage,
            cost=done.cost,
            is_cached=done.is_cached,
            model=done.model,
            prompt=prompt.label,
            schema=prompt.schema_hash,
            tokens=0 if done.is_cached else self.provider.tokens(done.usage),
            writes=done.writes,
        )

    @property
    def neighbours(self) -> "list[Desk]":
        """All desks of this account."""
        desks = _DESKS.get(self.app, [])
        return [desk for desk in desks if desk.provider.account == self.provider.account]

    def gates_of(self, scope: str) -> list[str]:
        """The breakers in front of a suspended scope."""
        account, model = self.provider.account, self.provider.model
        if scope == f"account {account}":
            return [desk.name for desk in self.neighbours]
        return [self.name] if scope == f"model {account} {model}" else []

    async def suspensions(self) -> dict[str, Hold]:
        """What is suspended now, by scope (`account ...`, `model ...`, `kind ...`, `lane ...`)."""
        return await self.app.store.read(suspension.standing())

    async def accounts(self, since: float, until: float) -> list[Account]:
        """Calls, tokens and cost by kind, lane, model and disposition, of all desks."""
        return await self.app.store.read(records.spent(since, until))

    async def budgets(self) -> dict[str, Counter]:
        """What is spent and set aside of today's budgets."""
        await self.settle()
        return await self.app.store.read(budgets.standing())

    async def resume(self, reason: str, *, by: str, note: str = "", spread: Span = 0.0) -> Result:
        """End all suspensions of a reason and let their jobs run again, spread over some time.

        The reason is written as jobs show it (`QUOTA`). Whether the cure worked the first
        job finds out; if it did not, the rest is suspended again.
        """
        holds = await self.suspensions()
        names = [name for name, hold in holds.items() if hold.reason == reason]
        await self._lift(names, by=by, note=note)
        wanted = JobFilter((Term("reason", Op.EQ, (Text(reason),)),))
        commands = Commands(self.app.store, self.app.kinds)
        return await commands.resume_jobs(wanted, by=by, reason=note, spread=spread)

    async def _lift(self, names: Sequence[str], *, by: str, note: str) -> None:
        gates: dict[str, Sequence[str]] = {}
        for name in names:
            desks = _DESKS.get(self.app, [])
            gates[name] = sorted({gate for desk in desks for gate in desk.gates_of(name)})
        now = self.app.store_clock.now()
        lifted = suspension.lift(names, gates, by=by, reason=note, now=now)
        await self.app.store.run(lifted)
        kinds = [name.removeprefix("kind ") for name in names if name.startswith("kind ")]
        if kinds:
            await self.app.store.run(suspension.forget(kinds))
        await self.app.store.hint(Hint("control"))

    async def _tick(self) -> float:
        """The desk's duty on every node."""
        await self.settle()
        now = self.app.store_clock.now()
        if not self._has_learnt:
            for model, kind, expected, real in await self.app.store.read(
                records.recent(self.provider.account)
            ):
                self.estimator.learn(model, kind, expected, real)
            self._has_learnt = True
        for name, hold in (await self.suspensions()).items():
            if not self._is_mine(name):
                continue
            if hold.until is not None and hold.until <= now:
                await self.resume(hold.reason, by=suspension.BY, note="its time is over")
            elif not hold.is_swept:
                await self._sweep(name, hold)
        await self._keep_house(now)
        return _TICK_SECONDS

    def ended(self, name: str, day: str, amount: int, cost: int) -> None:
        """Of the amount that was set aside on a budget, so much was spent."""
        before = self._ended.get((name, day), (0, 0))
        self._ended[name, day] = (before[0] + amount, before[1] + cost)

    async def settle(self) -> None:
        """Tell the store what calls really cost."""
        ended, self._ended = self._ended, {}
        if not ended:
            return
        try:
            await self.app.store.run(budgets.settled(ended, self.app.store_clock.now()))
        except BaseException:
            for (name, day), (amount, cost) in ended.items():
                self.ended(name, day, amount, cost)
            raise

    def _is_mine(self, scope: str) -> bool:
        account = self.provider.account
        if scope.startswith("kind "):
            return scope.removeprefix("kind ") in self._kinds(self.name)
        return scope.startswith((f"account {account}", f"model {account} ", f"lane {account} "))

    def _kinds(self, *gates: str) -> list[str]:
        return sorted(n for n, kind in self.app.kinds.items() if kind.terms.breaker in gates)

    async def _sweep(self, name: str, hold: Hold) -> None:
        """SUSPEND what waits in a scope, so that it is seen, counted and resumed by its reason."""
        what, _, rest = name.partition(" ")
        desks = [desk.name for desk in self.neighbours]
        match what:
            case "kind":
                kinds = [rest]
            case "model":
                kinds = self._kinds(*self.gates_of(name))
            case _:
                kinds = self._kinds(*desks)
        terms = [
            Term("kind", Op.EQ, tuple(map(Text, kinds))),
            Term("state", Op.EQ, (State.PENDING, State.RETRY_WAIT)),
        ]
        if what == "lane":
            lane = rest.removeprefix(f"{self.provider.account} ")
            terms.append(Term("lane", Op.EQ, (Text(lane),)))
        if kinds:
            commands = Commands(self.app.store, self.app.kinds)
            await commands.suspend(JobFilter(tuple(terms)), hold.reason, by=suspension.BY)
        await self.app.store.run(suspension.swept(name, self.app.store_clock.now()))

    async def _keep_house(self, now: float) -> None:
        answers, calls, most = self._keep
        if now - self._pruned_at >= _PRUNE_SECONDS:
            self._pruned_at = now
            await self.app.store.run(
                records.prune(
                    calls_before=now - calls, answers_before=now - answers, answers_max=most
                )
            )
        if now - self._ramped_at >= _RAMP_SECONDS:
            self._ramped_at = now
            await self.app.store.run(suspension.slow_down(self.name, _RAMP_FACTOR, now))
