"""A report as people read it: one run in full, several as a row each."""

from collections.abc import Iterator, Sequence
from typing import Final

from dure.core.duration import text_of
from dure.simulate.plan.advice import NOTICEABLE, percent
from dure.simulate.plan.binding import REAL
from dure.simulate.plan.report import Report, Waits

_GAP: Final = "  "
_LITTLE: Final = 0.001
"""Shares of the time under this are not printed."""
_WORTH: Final = 0.05
"""A run that ends, or lets wait, shorter by less than this gains nothing."""

Row = tuple[str, ...]


def page(report: Report) -> Iterator[str]:
    """One run: its figures, what binds, and what to change."""
    yield from _table(_summary(report))
    yield ""
    yield from _table(
        [
            ("kind", "jobs", *_WAIT_TITLES, "attempts", "retries", "timeouts", "done", "failed"),
            *(
                (
                    kind.name,
                    *_waits(kind.waits),
                    *_counts(kind.attempts, kind.retries, kind.timeouts),
                    *_counts(kind.succeeded, kind.failed),
                )
                for kind in report.kinds
            ),
        ]
    )
    yield ""
    yield from _table(
        [
            ("lanes", "number", "jobs", *_WAIT_TITLES, "worst lane p95", "pace of a lane"),
            *(
                (
                    group.name,
                    f"{group.lanes:,}",
                    *_waits(group.waits),
                    text_of(group.worst_p95),
                    _pace(group.pace) if group.pace else "-",
                )
                for group in report.lanes
            ),
        ]
    )
    yield ""
    yield from _table(
        [
            ("binds", "of the time"),
            *((b.text, percent(b.share)) for b in report.binds if b.share >= _LITTLE),
        ]
    )
    yield ""
    yield from report.advice


def comparison(reports: Sequence[Report]) -> Iterator[str]:
    """A row for each run, and from where on more workers gain nothing."""
    yield from _table(
        [
            ("workers", "slots", "finish", "jobs/s", *_WAIT_TITLES, "slots used", "left", "binds"),
            *(_compared(report) for report in reports),
        ]
    )
    yield ""
    yield from verdict(reports)


def verdict(reports: Sequence[Report]) -> Iterator[str]:
    """Which number of workers is enough."""
    ordered = sorted(reports, key=lambda report: report.workers)
    most = ordered[-1]
    enough = next(report for report in ordered if _is_as_good(report, most))
    if enough is most:
        yield f"Up to {_workers(most)}, more of them gain something."
    else:
        yield f"Beyond {_workers(enough)} nothing is gained."
    binds = next((bind for bind in enough.binds if bind.hold in REAL), None)
    if binds is not None and binds.share >= NOTICEABLE:
        yield f"There {binds.text} {binds.verb} {percent(binds.share)} of the time."


def _is_as_good(one: Report, best: Report) -> bool:
    """Whether it ends as early, and lets nobody wait noticeably longer."""
    return (
        one.left <= best.left
        and one.seconds <= best.seconds * (1.0 + _WORTH)
        and one.waits.p95 <= best.waits.p95 * (1.0 + _WORTH) + _WORTH
    )


_WAIT_TITLES: Final = ("wait p50", "p95", "p99", "longest")


def _summary(report: Report) -> list[Row]:
    left = "none" if not report.left else f"{report.left:,} jobs when patience ran out"
    late = f"{text_of(report.after_last_arrival)} after the last job came"
    return [
        ("jobs", f"{report.jobs:,} in {sum(group.lanes for group in report.lanes):,} lanes"),
        ("workers", f"{report.name} slots, used {percent(report.slots_used)} on average"),
        ("finish", f"after {text_of(report.seconds)}, {late}"),
        ("throughput", _pace(report.throughput)),
        ("waiting", f"{report.waiting_most:,} jobs at most"),
        ("left", left),
    ]


def _compared(report: Report) -> Row:
    binds = ", ".join(f"{b.text} {percent(b.share)}" for b in report.binds[:1])
    return (
        str(report.workers),
        f"{report.workers * report.slots:,}",
        text_of(report.seconds),
        f"{report.throughput:.3g}",
        *_waits(report.waits)[1:],
        percent(report.slots_used),
        f"{report.left:,}",
        binds,
    )


def _waits(waits: Waits) -> Row:
    lengths = (waits.p50, waits.p95, waits.p99, waits.most)
    return (f"{waits.jobs:,}", *map(text_of, lengths))


def _counts(*numbers: int) -> Row:
    return tuple(f"{number:,}" for number in numbers)


def _pace(rate: float) -> str:
    """Jobs over a time in which there is at least one."""
    for unit, seconds in (("s", 1.0), ("m", 60.0), ("h", 3600.0)):
        if rate * seconds >= 1.0:
            return f"{rate * seconds:.3g} jobs/{unit}"
    return f"{rate * 86400.0:.3g} jobs/d"


def _workers(report: Report) -> str:
    return f"{report.workers:,} worker{'' if report.workers == 1 else 's'}"


def _table(rows: Sequence[Row]) -> Iterator[str]:
    """Aligned columns."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (text.ljust(size) for text, size in zip(row, sizes, strict=True))
        yield _GAP.join(cells).rstrip()
