"""What the simulated jobs do: the dice decides how each attempt ends, the world remembers it.

Every job carries a token. Every run of a handler has a number, and what it writes and
enqueues carries that number, so that afterwards each row can be traced to the one attempt
that was allowed to leave it.
"""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from dure.core.backoff import Backoff, RetryPolicy
from dure.core.job import Job
from dure.core.outcome import Done, Fail, Guard, Outcome, Retry, Skip, Stale, Suspend, Wait, Write
from dure.engine.attempts.context import current
from dure.engine.declare import Declarations
from dure.simulate.faults.auditor import Auditor
from dure.simulate.faults.ledger import Ledger

_PATIENCE: Final = RetryPolicy(4, (Backoff(0.4, 2.0, 3.0, 0.5),))
_SHORT_PATIENCE: Final = RetryPolicy(2, (Backoff(0.5),))
TIMEOUT: Final = 1.5
LIMIT: Final = "shop"
BREAKER: Final = "shop"
KIND_CAP: Final = 2
ATTEMPTS: Final = {"plain": 4, "effect": 4, "item": 4, "limited": 4, "capped": 4, "fragile": 2}
_NEW_LANES: Final = 0.05
"""Of the jobs go to a lane that nobody has named yet."""
FACTS: Final = 4
"""Rows of the application that guards look at."""


@dataclass(slots=True)
class Run:
    """One run of a handler for one job."""

    number: int
    token: int
    fence: int | None
    """None in a chunk, where the handler sees only the first job."""
    effects: int = 0
    then: tuple[int, ...] = ()
    ends_well: bool = False


@dataclass(slots=True)
class World:
    """All that the handlers of one simulation share."""

    dice: random.Random
    ledger: Ledger
    auditor: Auditor
    is_calm: bool = False
    is_over: bool = False
    tokens: int = 0
    acknowledged: dict[int, int] = field(default_factory=dict)
    """Token by the id the store has confirmed."""
    runs: list[Run] = field(default_factory=list)
    begun: set[tuple[int, int]] = field(default_factory=set)
    lanes: tuple[str, ...] = ()
    kinds: dict[str, Callable[[int], Job]] = field(default_factory=dict)

    def token(self) -> int:
        """A name for a job to be."""
        self.tokens += 1
        return self.tokens

    def job(self, kind: str, token: int | None = None) -> Job:
        """A job of a kind, in a drawn lane."""
        lane = self.dice.choice(self.lanes)
        if self.dice.random() < _NEW_LANES and not self.is_calm:
            lane = f"new-{self.tokens}"
        return self.kinds[kind](self.token() if token is None else token).options(lane=lane)

    def enter(self, token: int, *, is_chunk: bool = False) -> Run:
        """A handler begins; no fence may begin twice."""
        attempt = current()
        if not is_chunk:
            if (attempt.job, attempt.fence) in self.begun:
                sentence = f"Fence {attempt.fence} was run twice."
                self.auditor.violated("one run per fence", sentence, attempt.job)
            self.begun.add((attempt.job, attempt.fence))
        run = Run(len(self.runs), token, None if is_chunk else attempt.fence)
        self.runs.append(run)
        return run


def declare(world: World) -> Declarations:
    """The kinds of a simulation."""
    app = Declarations()
    terms: dict[str, Any] = {"retry": _PATIENCE, "timeout": TIMEOUT}

    @app.kind(**terms)
    async def plain(token: int) -> object:
        run = world.enter(token)
        await _take_time(world)
        return _ending(world, run)

    @app.kind(**terms)
    async def effect(token: int) -> object:
        run = world.enter(token)
        fact, version = _fact(world)
        await _take_time(world)
        return _effects(world, run, fact, version)

    @app.chunk(4, **terms)
    async def item(tokens: list[int]) -> Sequence[object]:
        runs = [world.enter(token, is_chunk=True) for token in tokens]
        await _take_time(world)
        fact, version = _fact(world)
        return [
            _effects(world, run, fact, version) if run.token % 2 else _ending(world, run)
            for run in runs
        ]

    @app.kind(limits=LIMIT, **terms)
    async def limited(token: int) -> object:
        run = world.enter(token)
        await asyncio.sleep(0.05 * world.dice.random())
        return _ending(world, run)

    @app.kind(max_running=KIND_CAP, uses="db", **terms)
    async def capped(token: int) -> object:
        run = world.enter(token)
        await _take_time(world)
        return _ending(world, run)

    @app.kind(retry=_SHORT_PATIENCE, timeout=TIMEOUT, breaker=BREAKER, errors={OSError: Wait(0.3)})
    async def fragile(token: int) -> object:
        run = world.enter(token)
        try:
            await _take_time(world)
        except asyncio.CancelledError:  # some libraries swallow it; the slot must survive that
            if world.is_over:
                raise
        await asyncio.sleep(0.1)
        if world.dice.random() < 0.2:
            raise OSError("the shop is closed")
        return _ending(world, run)

    world.kinds.update(app.kinds)
    return app


async def _take_time(world: World) -> None:
    """Mostly a moment; sometimes longer than the timeout."""
    draw = world.dice.random()
    seconds = 0.1 * draw
    if draw > 0.9 and not world.is_calm:
        seconds = 2.0 * TIMEOUT * world.dice.random()
    await asyncio.sleep(seconds)


def _ending(world: World, run: Run) -> object:
    """How an attempt ends that leaves nothing behind."""
    draw = world.dice.random()
    if world.is_calm or draw < 0.55:
        run.ends_well = True
        return {"run": len(world.runs)}
    endings: tuple[Outcome, ...] = (
        *(Retry("try again"), Retry("too many", after=0.8), Wait(0.4), Suspend("quota")),
        *(Fail("no use"), Skip("nothing to do"), Stale()),
    )
    outcome = world.dice.choice((*endings, None))
    if outcome is None:
        raise ValueError("the handler broke")
    run.ends_well = isinstance(outcome, Skip)
    return outcome


def _effects(world: World, run: Run, fact: int, version: int) -> object:
    """How an attempt ends that writes rows and enqueues follow-ups, if it is let."""
    draw = world.dice.random()
    if not world.is_calm and draw < 0.3:
        return _ending(world, run)
    run.effects = 1 + int(3 * world.dice.random())
    run.then = tuple(world.token() for _ in range(int(2.4 * world.dice.random())))
    run.ends_well = True
    write = Write(
        "insert into trial_effect (token, run) values (:token, :run)",
        {"token": run.token, "run": run.number},
    )
    writes = [write] * run.effects
    if not world.is_calm and world.dice.random() < 0.1:
        run.ends_well = False
        writes.append(Write("insert into trial_nowhere (token) values (1)"))
    guard = None
    if world.dice.random() < 0.3:
        guard = Guard("select version from trial_fact where id = :id", {"id": fact}, version)
    then = [world.job("plain", token) for token in run.then]
    return Done(writes=writes, then=then, guard=guard)


def _fact(world: World) -> tuple[int, int]:
    """What the handler believes when it begins."""
    fact = int(FACTS * world.dice.random())
    version: int = world.ledger.ask("select version from trial_fact where id = ?", fact)[0][0]
    return fact, version
