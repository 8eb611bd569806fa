"""A crawler on one node: its gates, its workers, its belts, and the hosts it owns."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from dure.core.job import Job
from dure.crawl.figures import KEEP_SECONDS, NodeFigures, figures_of
from dure.crawl.lines.line import Line
from dure.crawl.load import Meter
from dure.crawl.seen import Seen
from dure.crawl.spider import Stage
from dure.crawl.tuning import treat
from dure.crawl.workbench import Door, LaneGate, Workbench
from dure.engine.duties.service import Tick
from dure.engine.gates import Gate, Resource
from dure.engine.journal import tell
from dure.fetch.host import Snapshot
from dure.scripts import crawls, tenure, workers

if TYPE_CHECKING:
    from dure.crawl.crawler import Crawler
    from dure.engine.node import Node

_HOSTS_SECONDS: Final = 0.5
_TEND_SECONDS: Final = 1.0
SAY_SECONDS: Final = 2.0
_IDLE_SECONDS: Final = 10.0
"""A host that nobody asked for so long goes back."""
_ASKED_SECONDS: Final = 5.0
_GROUP_MAX: Final = 1000


class Presence:
    """What a crawler has on one node."""

    def __init__(self, crawler: "Crawler", node: "Node") -> None:
        self._crawler = crawler
        self.node = node
        self.clock = node.clock
        self.bench = Workbench(node.clock, lambda: node.nudge("crawl.hosts"))
        self.lines = {
            stage.kind: Line(stage, node, self._freed) for stage in crawler.stages.values()
        }
        for spider in crawler.spiders.values():
            lines = [self.lines[stage.kind] for stage in spider.stages.values()]
            for place, line in enumerate(lines):
                line.later = [later.frontier for later in lines[place + 1 :]]
        self.meter = Meter(node.clock, node.pacer.resources)
        self.meter.read = crawler.read_load or self.meter.read
        self._gates: dict[tuple[str, str], LaneGate] = {}
        self.started = node.clock.monotonic()
        self._said_at = self.started
        self._said_pages = 0
        self.pace = 0.0
        """Pages in a second, lately."""
        self._worker = 0
        self._store = crawler.store
        self._peers = 1
        self._noted: dict[str, str] = {}
        self.manners: dict[str, float] = {}
        """What was changed at run time about how hosts are treated."""

    @property
    def duties(self) -> Mapping[str, Tick]:
        return {"crawl.hosts": self._tend_hosts, "crawl.tend": self._tend}

    def gate(self, kind: str, lane: str, release: Callable[[], None]) -> Gate | None:
        line = self.lines.get(kind)
        if line is None:
            return None
        host = self._crawler.host(lane)
        if lane not in self.bench.doors:
            treat(host, self.manners)
        door = self.bench.door(host)
        door.release = release
        gate = self._gates.get((kind, lane))
        if gate is None:
            gate = self._gates[kind, lane] = LaneGate(door, line, self)
        return gate

    @property
    def name(self) -> str:
        """This node, for people."""
        return f"worker {self.node.worker}"

    def seen(self) -> list[Seen]:
        """What this process knows of addresses, of every run."""
        return [course.seen for course in self._crawler.courses.values()]

    def _freed(self, place: Resource) -> None:
        """A place of a resource came free: any stage's worker may take it."""
        for line in self.lines.values():
            for step in (line.parse, line.save):
                if step.place is place:
                    step.crew.release(1)

    def fetched(self, stage: Stage, size: int, took: float) -> None:
        """A page has arrived."""
        tally = self.lines[stage.kind].tally
        tally.fetched += 1
        tally.bytes += size
        tally.fetch_seconds += took

    def parsed(self, stage: Stage, took: float, *, items: int, children: Sequence[Job]) -> None:
        """A page was parsed."""
        tally = self.lines[stage.kind].tally
        for kind, lane in ((job.kind, job.how.lane) for job in children):
            if kind in self.lines and lane is not None:
                self.lines[kind].frontier.add(lane, 1)
        tally.parsed += 1
        tally.parse_seconds += took
        tally.items += items
        tally.children += len(children)

    def parse_failed(self, stage: Stage, error: str) -> None:
        """A stage failed on a page."""
        self.lines[stage.kind].tally.parse_failed += 1
        tell("crawl.parse_failed", logging.WARNING, stage=stage.kind, error=error)

    async def leave(self) -> None:
        self.bench.close()
        ours = [door for door in self.bench.doors.values() if door.is_ours]
        await self._give(ours)
        if self.node.worker:
            await self._say()

    async def _tend(self) -> float:
        """Let crews follow use and resources follow the machine."""
        now = self.clock.monotonic()
        for line in self.lines.values():
            for crew in line.crews:
                crew.tick(now)
        self.meter.tick()
        await self._count_waiting()
        await self._crawler.retune(self)
        if now - self._said_at >= SAY_SECONDS:
            await self._say()
        return _TEND_SECONDS

    async def _count_waiting(self) -> None:
        """Let every bounded frontier know what the store holds."""
        bounded = [line for line in self.lines.values() if line.frontier.capacity is not None]
        if not bounded:
            return
        depths: dict[str, dict[str, int]] = {line.stage.kind: {} for line in bounded}
        for session in list(self._crawler.courses):
            for (kind, lane), jobs in (await self._store.read(crawls.waiting(session))).items():
                if kind in depths:
                    depths[kind][lane] = depths[kind].get(lane, 0) + jobs
        for line in bounded:
            line.frontier.learn(depths[line.stage.kind])

    async def _say(self) -> None:
        """Let other processes know how this node fares."""
        self._keep_pace()
        said = figures_of(self)
        known = await self._store.read(crawls.figures())
        old = [
            name
            for name, text in known.items()
            if said.at - msgspec.json.decode(text, type=NodeFigures).at > KEEP_SECONDS
        ]
        text = msgspec.json.encode(said).decode()
        await self._store.run(crawls.write_figures(self.name, text, said.at, forget=old))

    def _keep_pace(self) -> None:
        now, pages = self.clock.monotonic(), sum(x.tally.parsed for x in self.lines.values())
        passed = now - self._said_at
        if passed > 0:
            lately = (pages - self._said_pages) / passed
            self.pace = (self.pace + lately) / 2 if self.pace else lately
        self._said_at, self._said_pages = now, pages

    async def _tend_hosts(self) -> float:
        """Take the hosts that are asked for, give back what is too much or not needed."""
        if self._worker != self.node.worker:
            self._worker = self.node.worker
            for door in self.bench.doors.values():
                door.is_ours = False
        now = self.clock.monotonic()
        await self._count_peers()
        doors = list(self.bench.doors.values())
        active = [door for door in doors if now - door.asked_at < _ASKED_SECONDS]
        fair = -(-len(active) // self._peers) if self._peers > 1 else len(doors)
        ours = [door for door in doors if door.is_ours]
        await self._give(self._surplus(ours, fair, now))
        held = sum(door.is_ours for door in doors)
        wanted = [door for door in doors if door.wants and not door.is_ours]
        await self._take(wanted[:_GROUP_MAX], max(fair - held, 0), now)
        await self._note(now)
        return _HOSTS_SECONDS

    def _surplus(self, ours: list[Door], fair: int, now: float) -> list[Door]:
        """What goes back: hosts without work, and those over our share. Only quiet ones can."""
        idle = [d for d in ours if d.flow.is_quiet and now - d.asked_at > _IDLE_SECONDS]
        if self._peers == 1:
            return []
        over = len(ours) - len(idle) - fair
        busy = [
            d for d in ours if d not in idle and d.flow.is_quiet and d.host.ready_at(now) <= now
        ]
        return idle + busy[: max(over, 0)]

    async def _count_peers(self) -> None:
        known = await self._store.read(workers.listing(self.node.pacer.store_now()))
        kinds = set(self.lines)
        self._peers = max(
            sum(bool(kinds.intersection(each.kinds)) for each in known if each.is_alive), 1
        )

    async def _take(self, doors: list[Door], most: int, now: float) -> None:
        if not doors or not most or not self.node.worker:
            return
        names = {_tenure(door): door for door in doors}
        worker = self.node.worker
        store_now = self.node.pacer.store_now()
        taken = await self._store.run(tenure.take(names, worker, most=most, now=store_now))
        if worker != self.node.worker:
            return
        for name, learned in taken.items():
            door = names[name]
            door.is_ours, door.wants, door.since = True, False, now
            if learned:
                self._recall(door, learned, now, store_now)
            door.reopen()

    @staticmethod
    def _recall(door: Door, learned: str, now: float, store_now: float) -> None:
        kept = msgspec.json.decode(learned, type=_Learned)
        door.host.restore(kept.host, now, max(store_now - kept.at, 0.0))

    async def _give(self, doors: list[Door]) -> None:
        if not doors:
            return
        now, store_now = self.clock.monotonic(), self.node.pacer.store_now()
        learned = {}
        for door in doors:
            door.is_ours = door.wants = False
            learned[_tenure(door)] = _learned(door, now, store_now)
        await self._store.run(tenure.give(learned, self.node.worker, store_now))

    async def _note(self, now: float) -> None:
        """Write down what hosts taught us that a restart must not forget."""
        store_now = self.node.pacer.store_now()
        changed = {}
        for door in self.bench.doors.values():
            kept = door.host.snapshot(now)
            mark = f"{kept.strikes} {kept.bans} {kept.agent}"
            if door.is_ours and self._noted.get(kept.host, "0 0 0") != mark:
                self._noted[kept.host] = mark
                changed[_tenure(door)] = _learned(door, now, store_now)
        if changed:
            await self._store.run(tenure.note(changed, store_now))


class _Learned(msgspec.Struct):
    host: Snapshot
    at: float
    """By the store's clock."""


def _learned(door: Door, now: float, store_now: float) -> str:
    return msgspec.json.encode(_Learned(door.host.snapshot(now), store_now)).decode()


def _tenure(door: Door) -> str:
    return f"host:{door.host.name}"
