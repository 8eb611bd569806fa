"""Where a crawl's time goes, and what would make it faster: a report made of counts alone."""

from collections.abc import Sequence
from typing import Final

import msgspec

from dure.crawl.figures import FULL, NodeFigures

_CPU_BOUND: Final = 0.85
_BLOCKED_SHARE: Final = 0.01
_SLOW_PARSE: Final = 0.01
_ERRORS: Final = 0.05
_IDLE_CPU: Final = 0.5


class StageProfile(msgspec.Struct, kw_only=True):
    """One stage over all nodes."""

    stage: str
    pages: int
    fetch_ms: float
    parse_ms: float
    bytes_per_page: int
    items: int
    children: int
    share: float
    """Of the time all stages took, parsing only: what this process itself pays for."""
    parse_failed: int


class Advice(msgspec.Struct, kw_only=True):
    """One thing to change, and why."""

    what: str
    why: str


class Profile(msgspec.Struct, kw_only=True):
    """The report."""

    pages: int
    pages_per_second: float
    stages: list[StageProfile]
    advice: list[Advice]


def profile_of(nodes: Sequence[NodeFigures], spider: str) -> Profile:
    """The report on a spider's stages, from what its nodes counted."""
    stages = sorted({s.stage for n in nodes for s in n.stages if s.stage.startswith(f"{spider}.")})
    total = sum(s.parse_seconds for n in nodes for s in n.stages) or 1.0
    profiles = [_stage(nodes, stage, total) for stage in stages]
    pages = sum(each.pages for each in profiles)
    seconds = max((node.up_seconds for node in nodes), default=0.0)
    return Profile(
        pages=pages,
        pages_per_second=pages / seconds if seconds else 0.0,
        stages=profiles,
        advice=advise(nodes, profiles, spider),
    )


def advise(
    nodes: Sequence[NodeFigures], profiles: Sequence[StageProfile], spider: str
) -> list[Advice]:
    """What to change first, the most telling sign first."""
    found: list[Advice] = []
    for node in nodes:
        found += [
            Advice(
                what=f"more memory, or smaller queues: queue_max of the stages on {node.node}",
                why=f"{node.memory_share:.0%} of the memory is used, so limits shrink",
            )
        ] * (node.memory_share > FULL)
        found += _of_stages(node, spider)
    for profile in profiles:
        if profile.parse_ms > _SLOW_PARSE * 1000:
            found.append(
                Advice(
                    what=f"parse {profile.stage} outside of the loop",
                    why=f"a page takes {profile.parse_ms:.1f} ms to parse, and holds up all others",
                )
            )
    busy = [node for node in nodes if node.cpu_share > _CPU_BOUND]
    if busy and len(busy) == len(nodes):
        found.append(
            Advice(what="one more node", why="every node uses all of the processor it can")
        )
    if not found and nodes and all(node.cpu_share < _IDLE_CPU for node in nodes):
        found.append(
            Advice(
                what="more requests at once to a host, if its owner agrees: host.concurrency",
                why="processors are idle and no queue is full: the pace is that of the hosts",
            )
        )
    return found


def _of_stages(node: NodeFigures, spider: str) -> list[Advice]:
    found = []
    for stage in node.stages:
        if not stage.stage.startswith(f"{spider}."):
            continue
        name = stage.stage.removeprefix(f"{spider}.")
        if stage.workers_count == stage.workers_high and stage.workers_active == stage.workers_high:
            found.append(
                Advice(
                    what=f"{name}.crew_high over {stage.workers_high}",
                    why=f"all workers of {stage.stage} on {node.node} are busy",
                )
            )
        if stage.error_share > _ERRORS:
            found.append(
                Advice(
                    what=f"a longer host.delay, or look at the errors of {name}",
                    why=f"{stage.error_share:.0%} of the pages of {stage.stage} fail",
                )
            )
    found += [
        Advice(
            what=f"a larger queue, or faster work behind it: {queue.name}",
            why=f"{queue.blocked} of {queue.total_in} pages had to wait for a place",
        )
        for queue in node.queues
        if queue.total_in and queue.blocked / queue.total_in > _BLOCKED_SHARE
    ]
    return found


def _stage(nodes: Sequence[NodeFigures], stage: str, total: float) -> StageProfile:
    every = [each for node in nodes for each in node.stages if each.stage == stage]
    pages = sum(each.parsed for each in every)
    fetched = sum(each.fetched for each in every)
    return StageProfile(
        stage=stage,
        pages=pages,
        fetch_ms=1000 * sum(each.fetch_seconds for each in every) / max(fetched, 1),
        parse_ms=1000 * sum(each.parse_seconds for each in every) / max(pages, 1),
        bytes_per_page=sum(each.bytes for each in every) // max(fetched, 1),
        items=sum(each.items for each in every),
        children=sum(each.children for each in every),
        share=sum(each.parse_seconds for each in every) / total,
        parse_failed=sum(each.parse_failed for each in every),
    )
