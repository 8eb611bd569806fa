"""How each part of a node fares; liveness, readiness and metrics for whoever asks.

Live: the loop turns and the lease holds or is being renewed; a node that is not live should
be restarted. Ready: live, the store answers and the node takes work.
"""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dure.engine.node import Node
from dure.engine.tally import WAIT_BUCKETS, Spread

_REQUEST_BYTES_MAX: Final = 8192
_REQUEST_SECONDS: Final = 5.0
_LAG_SECONDS_MAX: Final = 5.0
_QUEUE_SHARE_MAX: Final = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One component: whether it is well, and a sentence."""

    component: str
    is_well: bool
    sentence: str
    is_vital: bool = False
    """Whether the node is not live without it."""


def checks(node: Node) -> list[Check]:
    """Every component of a node, the vital ones first."""
    beat = node.heartbeat
    slow = beat.lag - beat.beat
    found = [
        Check(
            component="loop",
            is_well=slow < _LAG_SECONDS_MAX,
            sentence=f"last turned {max(slow, 0.0):.1f}s late",
            is_vital=True,
        ),
        Check(
            component="lease",
            is_well=beat.is_trusted,
            sentence="holds" if beat.is_trusted else "is not certain to hold",
        ),
        Check(
            component="duties",
            is_well=not node.broken,
            sentence="; ".join(f"{name} broke: {error}" for name, error in node.broken.items())
            or "all run",
            is_vital=True,
        ),
        _trouble("claimer", node.claimer.trouble),
        _trouble("finisher", node.finisher.trouble),
        *(_trouble(name, service.trouble) for name, service in sorted(node.services.items())),
        Check(
            component="intake",
            is_well=not node.is_stopping,
            sentence="is stopping" if node.is_stopping else "takes work",
        ),
    ]
    abandoned = node.slots.abandoned_threads
    found.append(
        Check(
            component="threads",
            is_well=abandoned < node.slots.size,
            sentence=f"{abandoned} abandoned" if abandoned else "all answer",
        )
    )
    found.extend(_queues(node))
    return found


def _trouble(component: str, trouble: Exception | None) -> Check:
    return Check(
        component=component,
        is_well=trouble is None,
        sentence="works" if trouble is None else str(trouble),
    )


def _queues(node: Node) -> list[Check]:
    """Queues with a bound: over nine tenths full is unhealthy."""
    return [
        Check(
            component=f"queue {name}",
            is_well=depth <= _QUEUE_SHARE_MAX * bound,
            sentence=f"{depth} of {bound}",
        )
        for name, depth, bound in node.bounded_queues()
    ]


def is_live(node: Node) -> bool:
    """Whether restarting the node would not help."""
    return all(check.is_well for check in checks(node) if check.is_vital)


def is_ready(node: Node) -> bool:
    """Whether the node can take work now."""
    return all(check.is_well for check in checks(node) if not check.component.startswith("queue"))


def metrics(node: Node) -> str:
    """Counters and gauges of the node, as Prometheus reads them."""
    tally, slots = node.tally, node.slots
    lines: list[str] = []

    def put(name: str, kind: str, text: str, samples: list[tuple[str, float]]) -> None:
        lines.append(f"# HELP {name} {text}")
        lines.append(f"# TYPE {name} {kind}")
        lines.extend(f"{name}{labels} {value:g}" for labels, value in samples)

    events = sorted(tally.events.items())
    put(
        "dure_jobs_total",
        "counter",
        "Attempts that ended, by kind and event.",
        [(f'{{kind="{_label(k)}",event="{e}"}}', n) for (k, e), n in events],
    )
    put("dure_slots", "gauge", "Handlers that may run at once.", [("", slots.size)])
    put("dure_slots_busy", "gauge", "Handlers that run now.", [("", len(slots.running))])
    put("dure_slots_waiting", "gauge", "Claimed jobs without a slot.", [("", slots.waiting)])
    put("dure_lanes_waiting", "gauge", "Lanes with waiting work, as known here.",
        [("", len(node.rotation))])  # fmt: skip
    put("dure_rate", "gauge", "Attempts ended per second, smoothed.", [("", tally.rate)])
    put("dure_claims_total", "counter", "Claims made.", [("", tally.claims)])
    put("dure_claimed_total", "counter", "Jobs claimed.", [("", tally.claimed)])
    put("dure_refused_total", "counter", "Finishes that came too late.", [("", tally.refused)])
    put("dure_leases_expired_total", "counter", "Attempts taken back from dead workers.",
        [("", node.upkeep.swept)])  # fmt: skip
    put("dure_promoted_total", "counter", "Jobs that fell due.", [("", node.upkeep.promoted)])
    put("dure_threads_abandoned", "gauge", "Threads that do not stop.",
        [("", slots.abandoned_threads)])  # fmt: skip
    for name, text, spreads in (
        ("dure_job_wait_seconds", "From enqueue to claim.", tally.waits),
        ("dure_job_run_seconds", "From start to end of an attempt.", tally.runs),
    ):
        lines.append(f"# HELP {name} {text}")
        lines.append(f"# TYPE {name} histogram")
        for kind, spread in sorted(spreads.items()):
            lines.extend(_histogram(name, kind, spread))
    return "\n".join(lines) + "\n"


def _histogram(name: str, kind: str, spread: Spread) -> list[str]:
    label, lines, total = _label(kind), [], 0
    for bound, count in zip(WAIT_BUCKETS, spread.counts, strict=True):
        total += count
        edge = "+Inf" if bound == float("inf") else f"{bound:g}"
        lines.append(f'{name}_bucket{{kind="{label}",le="{edge}"}} {total}')
    lines.append(f'{name}_sum{{kind="{label}"}} {spread.total:g}')
    lines.append(f'{name}_count{{kind="{label}"}} {total}')
    return lines


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


async def serve_health(node: Node, host: str, port: int) -> asyncio.Server:
    """Answer /livez, /readyz, /health and /metrics. Nothing else, and no secrets."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            TimeoutError, ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
        ):
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_respond(node, head))
                await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    return await asyncio.start_server(answer, host, port, limit=_REQUEST_BYTES_MAX)


def _respond(node: Node, head: bytes) -> bytes:
    parts = head.split(b" ", 2)
    if len(parts) < 3 or parts[0] not in {b"GET", b"HEAD"}:
        return _response(405, "text/plain", "only GET is answered\n")
    page: Callable[[Node], bytes] | None = _PAGES.get(parts[1].partition(b"?")[0])
    if page is None:
        return _response(404, "text/plain", "try /livez, /readyz, /health or /metrics\n")
    return page(node)


def _page(test: Callable[[Node], bool]) -> Callable[[Node], bytes]:
    def page(node: Node) -> bytes:
        return _response(200, "text/plain", "ok\n") if test(node) else _described(node)

    return page


def _described(node: Node) -> bytes:
    found: list[Any] = checks(node)
    is_well = all(check.is_well for check in found)
    text = msgspec.json.encode(found).decode() + "\n"
    return _response(200 if is_well else 503, "application/json", text)


def _measured(node: Node) -> bytes:
    return _response(200, "text/plain; version=0.0.4; charset=utf-8", metrics(node))


_PAGES: Final[dict[bytes, Callable[[Node], bytes]]] = {
    b"/livez": _page(is_live),
    b"/readyz": _page(is_ready),
    b"/health": _described,
    b"/metrics": _measured,
}
_WORDS: Final = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


def _response(status: int, kind: str, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status} {_WORDS[status]}\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
