"""The account of a run: what became of every product and of every job."""

from typing import Final

import msgspec

from catalog.figures import LIST_KIND, PRODUCT_KIND
from catalog.spider import NAME
from dure import App, State
from dure.core.filter import JobFilter
from dure.core.state import FINAL
from dure.crawl.figures import Status, status_of

_SHOWN_MAX: Final = 20
_DONE: Final = State.SUCCESS.name.lower()


class DeadLetter(msgspec.Struct, kw_only=True):
    """A page that could not be had, or not be read."""

    job: int
    stage: str
    url: str
    """Empty for a page that is kept."""
    attempts: int
    error: str


class Pages(msgspec.Struct, kw_only=True):
    """The pages of one kind."""

    found: int
    done: int
    kept_unread: int
    """Fetched, but what its stage makes of it failed: kept, to be read again without a fetch."""
    failed: int
    cancelled: int
    left: int

    @property
    def is_balanced(self) -> bool:
        parts = self.done + self.kept_unread + self.failed + self.cancelled + self.left
        return self.found == parts


class Account(msgspec.Struct, kw_only=True):
    """The whole report."""

    session: str
    status: str
    jobs: dict[str, int]
    lists: Pages
    products: Pages
    saved: int
    """Rows of this run in the table of products."""
    dead_letters: list[DeadLetter]
    """The newest of them."""
    is_accounted: bool
    """Over, every job is in its place, and every product that was read is in the table."""


async def account_of(app: App, session: str = NAME) -> Account:
    """The report of a run; by default of the latest. Raises NotFound."""
    status = await status_of(app.store, app.insights, session)
    rows = await app.rows(
        "select count(*) as products from catalog_product where session = :session",
        {"session": status.session},
    )
    failed = await app.insights.jobs(
        JobFilter.parse(f"state:failed session:{status.session}"), limit=_SHOWN_MAX
    )
    letters = [
        DeadLetter(
            job=job.id,
            stage=job.kind,
            url=str(job.args.get("url", "")),
            attempts=job.attempt,
            error=job.error or "",
        )
        for job in failed
    ]
    return account(status, saved=rows[0]["products"], dead_letters=letters)


def account(status: Status, *, saved: int, dead_letters: list[DeadLetter]) -> Account:
    """The same from what is known already."""
    lists, products = (_pages(status, kind) for kind in (LIST_KIND, PRODUCT_KIND))
    parsed_again = sum(_states(status, f"{PRODUCT_KIND}.parse").values())
    total = lists.found + products.found
    total += parsed_again + sum(_states(status, f"{LIST_KIND}.parse").values())
    return Account(
        session=status.session,
        status=status.status,
        jobs=status.counts,
        lists=lists,
        products=products,
        saved=saved,
        dead_letters=dead_letters,
        is_accounted=lists.left + products.left == 0
        and lists.is_balanced
        and products.is_balanced
        and products.done == saved
        and total == sum(status.counts.values()),
    )


def _states(status: Status, kind: str) -> dict[str, int]:
    return status.stages.get(kind, {})


def _pages(status: Status, kind: str) -> Pages:
    """Each page has one job that fetches it, and one more when it could not be read."""
    fetches, again = _states(status, kind), _states(status, f"{kind}.parse")
    final = {state.name.lower() for state in FINAL}
    reading = sum(jobs for state, jobs in again.items() if state not in final)
    unread = sum(jobs for state, jobs in again.items() if state in final and state != _DONE)
    failed = sum(fetches.get(state.name.lower(), 0) for state in (State.FAILED, State.STALE))
    return Pages(
        found=sum(fetches.values()),
        done=fetches.get(_DONE, 0) - reading - unread,
        kept_unread=unread,
        failed=failed,
        cancelled=fetches.get(State.CANCELLED.name.lower(), 0),
        left=reading + sum(jobs for state, jobs in fetches.items() if state not in final),
    )
