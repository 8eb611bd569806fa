"""One seed: build a fleet, let it work while things break, let them heal, and judge.

0 s   nodes start, producers and operators work, the nemesis strikes
10 s  all faults end, every pause is lifted, a burst of work arrives in every lane
...   until nothing is left that could run: then every promise is judged
"""

import asyncio
import random
from typing import Final, NamedTuple

from dure.core.limit import Limit, Window
from dure.core.state import Priority
from dure.core.stream import pack
from dure.scripts import lanes, limits, names, settings, slots
from dure.simulate.faults.auditor import Auditor, Caps, Turns
from dure.simulate.faults.clients import FAILURES_MAX, Operator, Producer
from dure.simulate.faults.fleet import LEASE_SECONDS, SLOTS, Fleet
from dure.simulate.faults.history import History, Violation
from dure.simulate.faults.hosts import Machines
from dure.simulate.faults.ledger import Ledger
from dure.simulate.faults.nemesis import Nemesis
from dure.simulate.faults.verdict import findings, held, is_quiet
from dure.simulate.faults.weather import Weather
from dure.simulate.faults.workload import ATTEMPTS, FACTS, KIND_CAP, LIMIT, World, declare
from dure.testing.virtual import VirtualClock

TROUBLE_SECONDS: Final = 10.0
QUIET_SECONDS_MAX: Final = 150.0
_IDLE_SECONDS_MAX: Final = 5.0
_SETTLE_SECONDS: Final = 1.5
"""Until every node knows of the store and of what operators have said."""
_BURST: Final = 10
_FLOOD: Final = 30
"""For each node; more than all nodes together may take before it is another lane's turn."""
_ROUNDS: Final = 3
_LANES: Final = ("red", "green", "blue", "grey")
_LANE_CAP: Final = 2
_SETTINGS: Final = {
    "sweep.interval": "1",
    "scan.interval": "1",
    "promote.interval": "0.5",
    "worker.claim_min": str(SLOTS),
    "worker.claim_max": str(SLOTS),
}


class Verdict(NamedTuple):
    """What became of a seed."""

    seed: int
    violations: tuple[Violation, ...]
    history: History
    jobs: int
    seconds: float
    """Virtual time it took."""


class Trial:
    """One run of the simulation."""

    def __init__(self, loop: Machines, seed: int) -> None:
        self._loop = loop
        self._seed = seed
        self._dice = random.Random(seed)  # noqa: S311 - chance, not secrecy
        self._ledger = Ledger(":memory:", clock=VirtualClock(), inline=True)
        caps = Caps({_LANES[-1]: _LANE_CAP}, {"capped": KIND_CAP}, ATTEMPTS)
        self.history = History()
        self._auditor = Auditor(self._ledger, self.history, caps)
        self._weather = Weather(self._dice)
        self._fleet = Fleet(loop, self._ledger, self._auditor, self._weather, self._dice)
        self._nemesis = Nemesis(self._fleet, self._weather, self._dice)
        self._world = World(self._dice, self._ledger, self._auditor, lanes=_LANES)

    async def run(self) -> Verdict:
        """The whole story."""
        loop = self._loop
        loop.set_exception_handler(self._broke)
        start = loop.time()
        await self._prepare()
        loop.create_task(self._fleet.spread())
        await self._trouble(start + TROUBLE_SECONDS)
        if not self._auditor.violations:
            await self._recovery()
        verdict = Verdict(
            self._seed,
            tuple(self._auditor.violations),
            self.history,
            len(self._auditor.jobs),
            loop.time() - start,
        )
        self._world.is_over = True
        self._fleet.bury()
        await self._end()
        return verdict

    async def _end(self) -> None:
        """End every task; one whose attempt is being stopped takes the first word for that."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.wait(others, timeout=1.0)

    async def _prepare(self) -> None:
        await self._ledger.open()
        run, now = self._ledger.run, self._ledger.moment()
        limit = Limit(LIMIT, (Window(6, 1.0), Window(25, 6.0)))
        self._auditor.limit(limit)
        await run(limits.define(limit, by="trial", reason="", now=now))
        for key, text in _SETTINGS.items():
            await run(settings.set_(key, text, by="trial", reason="", now=now))
        if self._dice.random() < 0.5:
            await run(settings.set_(FAILURES_MAX, "5", by="trial", reason="", now=now))
        for lane in _LANES[:-1]:
            await run(names.lanes([lane]))
        await run(
            lanes.configure(_LANES[-1], by="trial", reason="", now=now, max_running=_LANE_CAP)
        )
        for fact in range(FACTS):
            self._ledger.ask("insert into trial_fact values (?, 1)", fact)
        self._fleet.serves(declare(self._world))

    async def _trouble(self, until: float) -> None:
        for _ in range(self._dice.randint(2, 4)):
            self._nemesis.start_node()
        works = [self._nemesis.work(until)]
        works.extend(Producer(self._fleet, self._world, self._dice).work(until) for _ in range(2))
        self._operator = Operator(self._fleet.join("client-op"), self._world, self._dice)
        works.append(self._operator.work(until))
        tasks = [self._loop.create_task(work) for work in works]
        await self._pass(until)
        for task in tasks:
            task.cancel()
        for done in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(done, Exception):
                raise done

    async def _pass(self, until: float) -> None:
        """Let time pass, at most until the first violation."""
        while self._loop.time() < until and not self._auditor.violations:
            await asyncio.sleep(0.25)

    async def _recovery(self) -> None:
        """No more faults: everything must come to its end."""
        self._fleet.note("all faults end")
        self._world.is_calm = True
        self._weather.clear_up()
        self._fleet.thaw_all()
        if not self._fleet.nodes:
            self._nemesis.start_node()
        await self._operator.calm_down()
        await self._pass(self._loop.time() + _SETTLE_SECONDS)
        await self._operator.enable_all()
        await self._pass(self._loop.time() + _SETTLE_SECONDS)
        await self._burst()
        deadline = self._loop.time() + QUIET_SECONDS_MAX
        calm = self._loop.time() + LEASE_SECONDS
        while self._loop.time() < deadline and not self._auditor.violations:
            await asyncio.sleep(0.5)
            if is_quiet(self._ledger) and self._loop.time() > calm:
                break
        deadline = self._loop.time() + _IDLE_SECONDS_MAX
        while self._loop.time() < deadline and any(held(self._fleet)):
            await asyncio.sleep(0.05)
        self._judge()
        await self._dismiss()

    async def _burst(self) -> None:
        """Work in every lane at once, most of it in one: no lane may starve."""
        found = await self._ledger.run(names.lanes(_LANES))
        kinds = await self._ledger.run(names.kinds(["plain"]))
        judged = {
            found[lane]: pack(found[lane], kinds["plain"], Priority.NORMAL) for lane in _LANES[:-1]
        }
        nodes = len(self._fleet.nodes)
        self._auditor.turns = Turns(judged, (_ROUNDS + 1) * nodes * SLOTS)
        client = self._fleet.join("client-burst")
        for lane in _LANES[:-1]:
            count = _FLOOD * nodes if lane == _LANES[0] else _BURST
            tokens = [self._world.token() for _ in range(count)]
            jobs = [self._world.kinds["plain"](token).options(lane=lane) for token in tokens]
            for token, receipt in zip(tokens, await client.enqueuer.many(jobs), strict=True):
                self._world.acknowledged[token] = receipt.id

    def _judge(self) -> None:
        if not self._auditor.violations:
            for invariant, sentence, job in findings(self._world, self._fleet):
                self._auditor.violated(invariant, sentence, job)

    async def _dismiss(self) -> None:
        """All nodes leave; nothing may be left behind that anybody would have to wait for."""
        if self._auditor.violations:
            return
        leaving = [self._fleet.leave(member) for member in self._fleet.nodes]
        await asyncio.gather(*leaving)
        held = await self._ledger.read(slots.held())
        left = {name: holders for name, holders in held.items() if holders}
        if left:
            self._auditor.violated("what is lent comes back", f"Slots are still held: {left}.")

    def _broke(self, _: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        if not self._weather.is_over:
            error = context.get("exception")
            self._auditor.violated("no duty breaks", f"{context['message']}: {error!r}")


def run_trial(seed: int) -> Verdict:
    """Run one seed to its end."""
    with asyncio.Runner(loop_factory=lambda: Machines(seed)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, Machines)
        return runner.run(Trial(loop, seed).run())
