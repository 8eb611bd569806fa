"""A test of a job: no server, no waiting, and the store fails when the test says so."""

import dure
import dure.testing

app = dure.App("never-touched.db")
answers: list[str] = []


@app.kind(retry=dure.RetryPolicy.of(3, base="10m"))
async def fetch(url: str) -> dure.Outcome:
    answers.append(url)
    if len(answers) == 1:
        raise ConnectionError("try again")
    return dure.Done(writes=[dure.Write("insert into page values (:url)", {"url": url})])


@dure.testing.in_virtual_time
async def test_a_page_that_failed_is_fetched_again_and_saved_once() -> None:
    async with dure.testing.running(app) as t:
        await t.sql("create table page (url text)")
        job = await t.enqueue(fetch("https://example.org"))
        await t.run_until_idle()
        assert (await t.job(job.id)).state is dure.State.RETRY_WAIT

        t.lose_next_answer("apply")  # the commit happens, its answer does not arrive
        await t.advance("15m")
        assert (await t.job(job.id)).state is dure.State.SUCCESS
        assert await t.sql("select url from page") == [("https://example.org",)]


if __name__ == "__main__":
    test_a_page_that_failed_is_fetched_again_and_saved_once()
    print("passed")
