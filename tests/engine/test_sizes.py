"""Large arguments, results and errors, on both stores: kept, refused or cut, never a danger."""

from pathlib import Path

import pytest

import dure
from dure import State, TooLarge
from dure.core.bounds import BODY_BYTES_MAX, ERROR_LENGTH_MAX, RESULT_BYTES_MAX
from dure.core.filter import JobFilter
from dure.scripts.jobs import Record

QUOTES = len('""')


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest, sqlite_path: Path) -> dure.App:
    if request.param == "postgres":
        return dure.App(request.getfixturevalue("postgres_url"))
    return dure.App(sqlite_path)


async def ended(app: dure.App, *jobs: dure.Job) -> list[Record]:
    """The jobs after a node has worked on them, in the order of enqueueing."""
    async with app:
        await app.enqueue_many(jobs)
        await app.drain()
        return list(await app.insights.jobs(JobFilter.parse(""), newest_first=False))


async def test_a_result_that_is_too_large_fails_its_own_job_and_no_other(app: dure.App) -> None:
    """X14 X3: another attempt would not help, and what ended beside it is committed."""

    @app.kind
    async def text(size: int) -> str:
        return "x" * size

    most = RESULT_BYTES_MAX - QUOTES
    small, fits, over, last = await ended(app, text(1), text(most), text(most + 1), text(2))

    assert [State.SUCCESS] * 3 == [small.state, fits.state, last.state]
    assert RESULT_BYTES_MAX == len(fits.result or "")
    assert (State.FAILED, 1) == (over.state, over.attempt)
    assert "The result of text is 4194305 bytes; a job keeps at most 4194304" in (over.error or "")


async def test_what_a_handler_says_at_length_is_cut(app: dure.App) -> None:
    """X14: errors, reasons and details alike."""
    long = "why " * 1_000_000

    @app.kind
    async def say(what: str) -> object:
        if what == "raise":
            raise RuntimeError(long)
        return {
            "fail": dure.Fail(long),
            "retry": dure.Retry(long),
            "suspend": dure.Suspend(long, long),
            "skip": dure.Skip(long),
        }[what]

    records = await ended(app, *map(say, ("raise", "fail", "retry", "suspend", "skip")))

    texts = [text for record in records for text in (record.error, record.reason) if text]
    assert 6 == len(texts)
    assert {ERROR_LENGTH_MAX} == {len(text) for text in texts}


async def test_arguments_that_are_too_large_are_refused_where_the_job_is_made(
    app: dure.App,
) -> None:
    """X14 X2: also when they are edited; what is just small enough arrives."""

    @app.kind(timeout=None)
    async def count(text: str) -> int:
        return len(text)

    most = BODY_BYTES_MAX - len('{"text":""}')
    with pytest.raises(TooLarge, match="arguments of count are 4194305 bytes"):
        count("x" * (most + 1))

    [record] = await ended(app, count("x" * most))

    assert str(most) == record.result
    async with app:
        with pytest.raises(TooLarge, match="arguments of count"):
            await app.commands.edit(record.id, f'{{"text":"{"x" * (most + 1)}"}}', by="kim")
