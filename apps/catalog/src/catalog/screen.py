"""The figures as lines of a terminal, in the words of a language."""

from collections.abc import Iterable, Sequence
from unicodedata import east_asian_width

from catalog.figures import Dashboard
from catalog.report import Account, Pages
from catalog.spider import STAGES
from catalog.words import Words
from dure.crawl.advice import Profile


def dashboard_lines(board: Dashboard, words: Words) -> list[str]:
    """The dashboard."""
    lines = [
        headline(board, words),
        "",
        *_table(_stage_rows(board, words)),
        "",
        *_resource_lines(board, words),
    ]
    summary = board.error_summary
    lines.append(
        f"{words('errors')}: {words('dead')} {summary.dead_letters:,}, "
        f"{words('retrying')} {summary.retrying:,}"
    )
    lines += [f"  {count:,} × {_short(reason)}" for reason, count in summary.reasons.items()]
    lines.append(f"{words('eta')}: {_eta(board, words)}")
    health = board.health
    lines.append(words("healthy" if health.is_healthy else "unhealthy"))
    lines += [f"  {what}: {sentence}" for what, sentence in health.details.items()]
    return lines


def headline(board: Dashboard, words: Words) -> str:
    """The run in one line."""
    flow = board.throughput
    return (
        f"{board.session}: {words(board.overall_status)} · "
        f"{words('pages')} {flow.pages_done:,} ({words('left')} {flow.pages_left:,}) · "
        f"{words('products')} {flow.products_saved:,} · {flow.pages_per_second:,.0f}/s"
    )


def progress_line(board: Dashboard, words: Words) -> str:
    """One line while it runs."""
    flow = board.throughput
    depths = " ".join(
        f"{queue.current_depth}/{queue.capacity}" for queue in board.queue_health.values()
    )
    return (
        f"{words('products')} {flow.products_saved:,} · {words('pages')} {flow.pages_done:,} · "
        f"{words('left')} {flow.pages_left:,} · {flow.pages_per_second:,.0f}/s · "
        f"{words('queue')} {depths} · {words('retrying')} {board.error_summary.retrying} · "
        f"{words('failed')} {board.error_summary.dead_letters}"
    )


def account_lines(account: Account, words: Words) -> list[str]:
    """The report of a run."""
    jobs = ", ".join(f"{state} {count:,}" for state, count in sorted(account.jobs.items()))
    lines = [
        f"{account.session}: {words(account.status)}",
        *_table(
            [
                ["", *(words(key) for key in _PARTS)],
                [words("lists"), *_pages(account.lists)],
                [words("products"), *_pages(account.products)],
            ]
        ),
        f"{words('saved')}: {account.saved:,} {words('products')}",
        f"{words('jobs')}: {sum(account.jobs.values()):,} ({jobs})",
    ]
    lines += [
        f"{words('failed')}: {each.stage} {each.url} ({each.attempts}×) {_short(each.error)}"
        for each in account.dead_letters
    ]
    lines.append(words("accounted" if account.is_accounted else "not_accounted"))
    return lines


def profile_lines(profile: Profile, words: Words) -> list[str]:
    """Where the time goes."""
    rows = [[words("stage"), words("pages"), "fetch ms", "parse ms", "kB", words("share")]]
    rows += [
        [
            each.stage,
            f"{each.pages:,}",
            f"{each.fetch_ms:.1f}",
            f"{each.parse_ms:.2f}",
            f"{each.bytes_per_page / 1000:.1f}",
            f"{each.share:.0%}",
        ]
        for each in profile.stages
    ]
    advice = [f"{words('advice')}: {each.what} — {each.why}" for each in profile.advice]
    return [*_table(rows), *(advice or [words("no_advice")])]


_PARTS = ("found", "read", "kept", "failed", "cancelled", "left")


def _pages(pages: Pages) -> list[str]:
    counts = (
        *(pages.found, pages.done, pages.kept_unread),
        *(pages.failed, pages.cancelled, pages.left),
    )
    return [f"{count:,}" for count in counts]


def _stage_rows(board: Dashboard, words: Words) -> list[list[str]]:
    rows = [[words(key) for key in ("stage", "queue", "blocked", "workers", "per_minute", "mean")]]
    rows[0].append(words("errors"))
    for stage in STAGES:
        queue, crew = board.queue_health.get(stage), board.worker_health.get(stage)
        if queue is None or crew is None:
            continue
        rest = f" ({words('resting')} {crew.resting_count})" if crew.resting_count else ""
        rows.append(
            [
                words(stage),
                f"{queue.current_depth:,}/{queue.capacity:,}{'' if queue.is_healthy else ' !'}",
                f"{queue.blocked_enqueue_count:,}",
                f"{crew.active_count}/{crew.total_count}{rest}",
                f"{crew.tasks_per_minute:,.0f}",
                f"{crew.average_task_seconds * 1000:,.0f} ms",
                f"{crew.error_rate:.1%}",
            ]
        )
    return rows


def _resource_lines(board: Dashboard, words: Words) -> list[str]:
    usage, links = board.resource_usage, board.duplicates
    places = ", ".join(f"{name} {used}/{size}" for name, (used, size) in usage.places.items())
    memory = f"{usage.memory_share:.0%}, {usage.memory_peak_bytes / 1e6:,.0f} MB"
    shares = f"cpu {usage.cpu_share:.0%} · {words('memory')} {memory}"
    found = f"{words('new')} {links.new:,}, {words('known')} {links.known:,}"
    return [
        f"{words('resources')}: {places or '-'} · {shares}",
        f"{words('links')}: {found}, {words('asked')} {links.asked_the_store:,}",
    ]


def _eta(board: Dashboard, words: Words) -> str:
    eta = board.estimated_completion
    if eta is None:
        return words("eta_unknown")
    soon = max(eta.earliest - board.at, 0.0)
    if eta.latest is None:
        return f"> {soon:,.0f} s"
    return f"{soon:,.0f}–{max(eta.latest - board.at, 0.0):,.0f} s"


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(_cells(row, widths)).rstrip() for row in rows]


def _cells(row: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    """The first column to the left, numbers to the right."""
    for place, (text, width) in enumerate(zip(row, widths, strict=True)):
        space = " " * (width - _width(text))
        yield f"{space}{text}" if place else f"{text}{space}"


def _width(text: str) -> int:
    """Columns of a terminal: a Korean letter takes two."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def _short(text: str, most: int = 110) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
