"""Batches begin when they may, end once, report themselves, and say when they will be done."""

import json
from dataclasses import asdict, replace
from itertools import product

import pytest
from hypothesis import given, strategies as st

from dure.core.batch import (
    BATCH_FINAL,
    BATCH_TABLE,
    BatchEffect,
    BatchEvent,
    BatchHead,
    BatchState,
    Eta,
    Overlap,
    RefuseBecause,
    Report,
    Sample,
    SkipBecause,
    Start,
    Tally,
    WaitFor,
    batch_refusal,
    eta,
    may_start,
)

ENDED = {BatchEffect.COUNT, BatchEffect.STAMP_END, BatchEffect.REPORT}
LIVE = frozenset(BatchState) - BATCH_FINAL
COUNTS = st.integers(0, 10_000)
TALLIES = st.builds(Tally, **dict.fromkeys(Tally.__slots__, COUNTS))

REPORT = Report(
    id=42,
    name="nightly",
    state=BatchState.DONE,
    started_at=1_800_000_000.0,
    ended_at=1_800_000_750.0,
    tally=Tally(added=100, success=95, failed=3, skipped=2, attempts=104),
)


def head(number: int, state: BatchState = BatchState.SEALED, at: float = 0.0) -> BatchHead:
    return BatchHead(number, "nightly", state, at)


def steady(pace: float, seconds: int, every: int = 10, start: float = 0.0) -> list[Sample]:
    return [(start + at, int(pace * at)) for at in range(0, seconds + 1, every)]


def known(estimate: Eta | None) -> Eta:
    assert estimate is not None
    return estimate


def test_every_pair_of_state_and_event_is_legal_or_refused_with_a_sentence() -> None:
    """X10"""
    for pair in product(BatchState, BatchEvent):
        assert (pair in BATCH_TABLE) is (batch_refusal(*pair) is None)


def test_a_batch_is_sealed_then_finished_and_can_be_interrupted_until_then() -> None:
    """X10"""
    legal = {pair: row.to for pair, row in BATCH_TABLE.items()}

    assert legal == {
        (BatchState.OPEN, BatchEvent.SEAL): BatchState.SEALED,
        (BatchState.SEALED, BatchEvent.FINISH): BatchState.DONE,
        (BatchState.OPEN, BatchEvent.INTERRUPT): BatchState.INTERRUPTED,
        (BatchState.SEALED, BatchEvent.INTERRUPT): BatchState.INTERRUPTED,
    }


def test_every_end_counts_stamps_and_reports_and_nothing_else_does() -> None:
    """X10: counted once at the end; the report is always sent, after an interruption too."""
    for row in BATCH_TABLE.values():
        assert (ENDED if row.to in BATCH_FINAL else set()) == set(row.effects)


def test_nothing_leaves_an_ended_batch_and_the_stored_numbers_never_change() -> None:
    """X10: so it is counted and reported once."""
    assert [0, 1, 2, 3] == [int(state) for state in BatchState]
    assert {state for state, _ in BATCH_TABLE} == LIVE


@pytest.mark.parametrize(
    ("state", "event", "words"),
    [
        (BatchState.DONE, BatchEvent.INTERRUPT, "the batch is over (DONE); start a new one"),
        (BatchState.INTERRUPTED, BatchEvent.SEAL, "the batch is over (INTERRUPTED)"),
        (BatchState.SEALED, BatchEvent.SEAL, "sealed already"),
        (BatchState.OPEN, BatchEvent.FINISH, "seal it first"),
    ],
)
def test_a_refusal_says_what_to_do(state: BatchState, event: BatchEvent, words: str) -> None:
    assert words in str(batch_refusal(state, event))


@given(TALLIES, TALLIES)
def test_tallies_add_up_count_by_count(one: Tally, two: Tally) -> None:
    """X10"""
    both = one + two

    assert all(
        getattr(both, name) == getattr(one, name) + getattr(two, name) for name in Tally.__slots__
    )
    assert one.finished + two.finished == both.finished
    assert one == one + Tally()


def test_every_way_to_end_is_finished_and_what_remains_is_never_negative() -> None:
    tally = Tally(added=20, success=1, failed=2, skipped=3, stale=4, cancelled=5, attempts=99)

    assert tally.finished == 15
    assert tally.remaining == 5
    assert Tally(success=1).remaining == 0


def test_a_batch_is_complete_when_it_is_sealed_and_nothing_remains() -> None:
    """X10"""
    done = Tally(added=2, success=1, failed=1)

    assert done.is_complete(sealed=True)
    assert not done.is_complete(sealed=False)
    assert not (done + Tally(added=1)).is_complete(sealed=True)
    assert Tally().is_complete(sealed=True)


@pytest.mark.parametrize("policy", list(Overlap))
def test_a_batch_starts_when_no_earlier_one_is_alive(policy: Overlap) -> None:
    """X10: those that are over do not count."""
    over = [head(1, BatchState.DONE), head(2, BatchState.INTERRUPTED)]

    assert Start() == may_start([], policy, 0.0)
    assert Start() == may_start(over, policy, 0.0)


@pytest.mark.parametrize("alive", sorted(LIVE))
@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        (Overlap.WAIT, WaitFor(7, "{}; this one begins when it is over")),
        (Overlap.SKIP, SkipBecause(7, "{}; this one is left out")),
        (
            Overlap.REFUSE,
            RefuseBecause(7, "{}: wait for its end, interrupt it, or allow overlap"),
        ),
    ],
)
def test_an_earlier_batch_makes_the_new_one_wait_or_skip_or_be_refused(
    policy: Overlap, answer: WaitFor | SkipBecause | RefuseBecause, alive: BatchState
) -> None:
    """X10"""
    obstacle = "batch 7 (nightly) has been running for 15m"
    expected = answer._replace(sentence=answer.sentence.format(obstacle))

    assert expected == may_start([head(7, alive, 100.0)], policy, 1000.0)
    assert type(expected) is type(may_start([head(7, alive, 100.0)], policy, 1000.0))


def test_batches_run_side_by_side_when_that_is_allowed() -> None:
    assert isinstance(may_start([head(7)], Overlap.ALLOW, 0.0), Start)


def test_the_batch_that_has_run_longest_is_waited_for() -> None:
    running = [head(9, at=50.0), head(8, at=50.0), head(1, BatchState.DONE)]

    answer = may_start(running, Overlap.WAIT, 40.0)

    assert isinstance(answer, WaitFor)
    assert answer.batch == 8
    assert "running for 0s" in answer.sentence


def test_a_report_is_plain_values() -> None:
    """X10"""
    report = replace(REPORT, orphans_recovered=2, note="quota ran out")

    assert json.loads(json.dumps(report.to_dict())) == {
        "id": 42,
        "name": "nightly",
        "state": "DONE",
        "started_at": 1_800_000_000.0,
        "ended_at": 1_800_000_750.0,
        "duration": 750.0,
        "tally": {**asdict(REPORT.tally), "finished": 100, "remaining": 0},
        "orphans_recovered": 2,
        "interrupted": False,
        "note": "quota ran out",
    }


def test_a_report_is_one_paragraph() -> None:
    """X10"""
    assert REPORT.text() == (
        "Batch 42 (nightly) took 12m30s, from 2027-01-15 08:00:00 to 2027-01-15 08:12:30 UTC. "
        "100 jobs in 104 attempts: 95 succeeded, 3 failed, 2 skipped."
    )


def test_an_interruption_recovered_orphans_and_a_note_are_told() -> None:
    """X10"""
    report = replace(
        REPORT,
        state=BatchState.INTERRUPTED,
        tally=Tally(added=9, stale=1, cancelled=1, attempts=1),
        orphans_recovered=1,
        note="The worker was shut down.",
    )

    assert report.interrupted
    assert report.text() == (
        "Batch 42 (nightly) was interrupted after 12m30s, "
        "from 2027-01-15 08:00:00 to 2027-01-15 08:12:30 UTC. "
        "9 jobs in 1 attempt: 1 stale, 1 cancelled, 7 not finished. "
        "Before it began, 1 orphan of an earlier run had to be recovered. "
        "The worker was shut down."
    )


def test_an_empty_batch_says_so_and_a_clock_set_back_costs_no_time() -> None:
    report = replace(REPORT, tally=Tally(), ended_at=REPORT.started_at - 5)

    assert report.duration == 0.0
    assert report.text().endswith("It had no jobs.")


@pytest.mark.parametrize("every", [10, 45])
def test_a_steady_pace_gives_a_narrow_range_however_it_was_sampled(every: int) -> None:
    """X20: one job a second, 600 left; 45 seconds do not fit into the stretches."""
    estimate = known(eta(steady(1.0, 630, every), 600, 630.0))

    assert estimate.likely == pytest.approx(1230)
    assert 1190 < estimate.low < estimate.likely < (estimate.high or 0) < 1270


def test_an_uneven_pace_gives_a_range_as_wide_as_its_swings() -> None:
    """X20: the n-th minute brings 60 n jobs; a tenth of them lie beyond 1.9 and 9.1 a second."""
    samples = [(60.0 * minute, 30 * minute * (minute + 1)) for minute in range(11)]

    estimate = known(eta(samples, 550, 600.0))

    assert estimate.likely == pytest.approx(700)
    assert estimate.low == pytest.approx(600 + 550 / 9.1)
    assert estimate.high == pytest.approx(600 + 550 / 1.9)


def test_few_jobs_make_a_wide_range_even_at_a_steady_pace() -> None:
    """X20: ten jobs in ten minutes, five in each half, are ten give or take four."""
    estimate = known(eta([(0.0, 0), (150.0, 1), (450.0, 9), (600.0, 10)], 10, 600.0))

    assert estimate.likely == pytest.approx(1200)
    assert estimate.low == pytest.approx(600 + 10 * 600 / (10 + 1.28 * 10**0.5))
    assert estimate.high == pytest.approx(600 + 10 * 600 / (10 - 1.28 * 10**0.5))


@pytest.mark.parametrize(("jobs", "every"), [(5, 300), (20, 20)])
def test_bursts_at_a_steady_rhythm_are_not_taken_for_stalls(jobs: int, every: int) -> None:
    """X20: a stretch is never shorter than a tenth of the window, nor too short for five jobs."""
    samples = [(float(at), at // every * jobs) for at in range(0, 601, 10)]

    assert known(eta(samples, 10, 600.0)).high is not None


def test_only_the_last_ten_minutes_count_when_they_hold_enough() -> None:
    """X20: slow for an hour, then fast."""
    slow = steady(0.1, 3600)
    fast = [(at, 360 + count) for at, count in steady(10.0, 600, start=3610.0)]

    estimate = known(eta([*slow, *fast], 1000, 4210.0))

    assert estimate.likely == pytest.approx(4310)
    assert estimate.window == pytest.approx(600)


def test_sparse_samples_reach_further_back() -> None:
    """X20: one sample every ten minutes; the last ten of them are used."""
    samples = [(600.0 * i, 10 * i) for i in range(31)]

    estimate = known(eta(samples, 10, 18_000.0))

    assert estimate.window == 9 * 600.0
    assert estimate.likely == pytest.approx(18_600)


def test_paused_time_is_left_out() -> None:
    """X20: five minutes of work, five of pause, five of work."""
    before = steady(1.0, 300)
    after = [(at, 300 + count) for at, count in steady(1.0, 300, start=600.0)]

    estimate = known(eta([*before, *after], 600, 900.0, paused_seconds=300.0))
    ignored = known(eta([*before, *after], 600, 900.0))

    assert estimate.likely == pytest.approx(1500)
    assert 1470 < estimate.low < (estimate.high or 0) < 1540
    assert estimate.window == pytest.approx(600)
    assert estimate.paused == 300.0
    assert ignored.likely > estimate.likely + 200


def test_a_pause_between_two_samples_is_left_out_though_something_finished() -> None:
    samples = [*steady(1.0, 300), (601.0, 301), *[(601.0 + i, 301 + i) for i in range(1, 300)]]

    estimate = known(eta(samples, 600, 900.0, paused_seconds=300.0))

    assert 1470 < estimate.low < estimate.likely < (estimate.high or 0) < 1540


def test_a_stall_that_goes_on_counts() -> None:
    """X20: nothing has finished for the last minutes, and nobody paused."""
    samples = steady(1.0, 300)

    estimate = known(eta(samples, 330, 500.0))

    assert estimate.likely == pytest.approx(500 + 330 * 500 / 300)
    assert estimate.high is None
    assert estimate.text(500.0) == "at least 5 min, from the last 8 minutes"


def test_a_replay_that_lowers_the_count_is_no_work_undone() -> None:
    samples = [(at, count - 100 * (at >= 300)) for at, count in steady(1.0, 600)]

    assert known(eta(samples, 590, 600.0)).likely == pytest.approx(1200)


def test_samples_may_come_in_any_order_twice_or_from_the_future() -> None:
    samples = steady(1.0, 600)
    shuffled = [*reversed(samples), *samples[10:20], (601.0, 9999)]

    assert eta(samples, 60, 600.0) == eta(shuffled, 60, 600.0)


@pytest.mark.parametrize(
    ("samples", "paused"),
    [
        ([], 0.0),
        ([(0.0, 50)], 0.0),
        ([(0.0, 0), (100.0, 4)], 0.0),
        ([(90.5, 0), (100.0, 500)], 0.0),
        (steady(1.0, 100, every=1), 91.0),
        (steady(1.0, 100), 1000.0),
    ],
)
def test_too_little_is_unknown(samples: list[Sample], paused: float) -> None:
    """X20: fewer than five jobs or ten seconds of work say nothing."""
    assert eta(samples, 10, 100.0, paused) is None


def test_five_jobs_in_ten_seconds_are_just_enough_and_no_jobs_need_nothing() -> None:
    assert known(eta([(90.0, 0), (95.0, 5)], 5, 100.0)).likely == pytest.approx(110)
    assert Eta(low=7.0, likely=7.0, high=7.0, window=0.0, paused=0.0) == eta([], 0, 7.0)


@given(
    st.lists(st.tuples(st.floats(0, 5000), st.integers(0, 500)), max_size=60),
    st.integers(1, 10**9),
    st.floats(0, 2000),
)
def test_an_estimate_is_a_range_in_the_future(
    samples: list[Sample], remaining: int, paused: float
) -> None:
    """X20: low <= likely <= high, whatever was seen."""
    estimate = eta(samples, remaining, 5000.0, paused)

    if estimate is not None:
        assert 5000.0 <= estimate.low <= estimate.likely
        assert estimate.high is None or estimate.likely <= estimate.high
        assert estimate.window >= 10.0
        assert "from the last" in estimate.text(5000.0) or estimate.high == 5000.0


@pytest.mark.parametrize(
    ("low", "high", "window", "paused", "text"),
    [
        (850.0, 1301.0, 600.0, 0.0, "14–22 min, from the last 10 minutes"),
        (850.0, 1301.0, 600.0, 60.0, "14–22 min, from the last 10 minutes; paused time excluded"),
        (12.9, 20.1, 61.0, 0.0, "12–21 s, from the last 61 seconds"),
        (120.0, 120.0, 100.0, 0.0, "2 min, from the last 2 minutes"),
        (-5.0, 90.0, 3600.0, 0.0, "0–90 s, from the last 60 minutes"),
        (90.0, 5400.0, 91.0, 0.0, "1–90 min, from the last 2 minutes"),
        (4000.0, 172800.0, 5401.0, 0.0, "1–48 h, from the last 2 hours"),
        (172800.0, 259200.0, 180000.0, 0.0, "2–3 days, from the last 2 days"),
        (850.0, None, 600.0, 0.0, "at least 14 min, from the last 10 minutes"),
        (-9.0, None, 600.0, 0.0, "at least 0 s, from the last 10 minutes"),
        (-9.0, 0.0, 600.0, 0.0, "any moment now"),
    ],
)
def test_an_estimate_is_told_as_a_range_rounded_outwards(
    low: float, high: float | None, window: float, paused: float, text: str
) -> None:
    """X20"""
    now = 1_800_000_000.0
    end = None if high is None else now + high
    estimate = Eta(low=now + low, likely=now + low, high=end, window=window, paused=paused)

    assert text == estimate.text(now)
