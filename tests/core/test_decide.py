"""What follows from an event: attempts are counted exactly, due times are right, fences stay."""

from dataclasses import dataclass, replace

import pytest
from hypothesis import given, strategies as st

from dure.core.backoff import NEVER, Backoff, RetryPolicy
from dure.core.decide import SUCCEEDED, Cause, Refusal, Transition, decide
from dure.core.state import FINAL, Event, State
from dure.core.table import TABLE

NOW = 1_000_000.0
POLICY = RetryPolicy(max_attempts=3)


@dataclass(frozen=True)
class Subject:
    state: State
    attempt: int = 1
    fence: int = 7
    id: int = 42


def follow(
    job: Subject, event: Event | Cause, policy: RetryPolicy = POLICY, draw: float = 0.0
) -> Transition:
    cause = event if isinstance(event, Cause) else Cause(event)
    decision = decide(job, cause, policy, NOW, draw)
    assert isinstance(decision, Transition)
    return decision


def after(job: Subject, event: Event | Cause, policy: RetryPolicy = POLICY) -> Subject:
    """The job as a store would keep it: the fence grows with every claim."""
    change = follow(job, event, policy)
    return replace(
        job,
        state=change.to,
        attempt=change.attempt,
        fence=job.fence + (change.event is Event.CLAIM),
    )


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", Event)
def test_an_event_is_decided_exactly_when_the_table_has_it(state: State, event: Event) -> None:
    """X1 A5"""
    decision = decide(Subject(state), Cause(event), POLICY, NOW, 0.5)

    if (state, event) in TABLE:
        assert isinstance(decision, Transition)
        assert decision.to in TABLE[state, event].targets
        assert (42, state, event) == (decision.id, decision.source, decision.event)
    else:
        assert isinstance(decision, Refusal)
        assert (42, event) == (decision.id, decision.event)
        assert decision.sentence


EXISTING = [(state, event) for state, event in TABLE if state is not None]


@given(pair=st.sampled_from(EXISTING), fence=st.integers(min_value=0))
def test_the_fence_is_carried_unchanged(pair: tuple[State, Event], fence: int) -> None:
    """X1"""
    state, event = pair

    assert fence == follow(Subject(state, fence=fence), event).fence


def test_a_claim_spends_an_attempt_and_sets_no_due_time() -> None:
    """A5"""
    change = follow(Subject(State.PENDING, attempt=1), Event.CLAIM)

    assert (change.to, change.attempt, change.due) == (State.RUNNING, 2, None)


def test_a_success_keeps_the_attempt_and_records_nothing_else() -> None:
    """A5"""
    change = follow(Subject(State.RUNNING, attempt=2), SUCCEEDED)

    assert change == Transition(42, 7, State.RUNNING, Event.SUCCEED, State.SUCCESS, 2)


@pytest.mark.parametrize("event", [Event.RETRY, Event.TIMEOUT, Event.LEASE_LOST])
def test_a_failure_waits_as_the_policy_says_and_keeps_the_error(event: Event) -> None:
    """X4 A7 A8"""
    job = Subject(State.RUNNING, attempt=2)

    change = follow(job, Cause(event, reason="unused", error="429"))

    assert (change.to, change.attempt, change.due) == (State.RETRY_WAIT, 2, NOW + 60)
    assert (change.reason, change.error) == (None, "429")


@pytest.mark.parametrize("event", [Event.RETRY, Event.TIMEOUT, Event.LEASE_LOST])
def test_a_failure_of_the_last_attempt_is_final_and_due_never(event: Event) -> None:
    """X4 A7 A8 E4"""
    change = follow(Subject(State.RUNNING, attempt=3), Cause(event, error="429", after=60))

    assert (change.to, change.attempt, change.due) == (State.FAILED, 3, None)
    assert change.error == "429"


def test_a_policy_of_one_attempt_fails_at_once() -> None:
    """X4"""
    assert State.FAILED is follow(Subject(State.RUNNING), Event.RETRY, NEVER).to


@pytest.mark.parametrize(("asked", "delay"), [(10, 30), (90, 90)])
def test_what_the_other_side_asked_for_is_the_least_a_retry_waits(
    asked: float, delay: float
) -> None:
    """X4: Retry-After"""
    change = follow(Subject(State.RUNNING), Cause(Event.RETRY, after=asked))

    assert NOW + delay == change.due


def test_the_draw_shortens_a_delay_by_the_jitter() -> None:
    """C5"""
    change = follow(Subject(State.RUNNING), Event.RETRY, RetryPolicy.of(jitter=0.5), draw=0.5)

    assert change.due == NOW + 22.5


def test_a_stuck_job_comes_back_after_a_minute_when_its_policy_says_so() -> None:
    """A8"""
    a_minute = RetryPolicy.of(3, base="1m", factor=1)
    dues = [
        follow(Subject(State.RUNNING, attempt=attempt), Event.LEASE_LOST, a_minute).due
        for attempt in (1, 2)
    ]

    assert dues == [NOW + 60, NOW + 60]


def test_a_job_that_falls_due_is_pending_with_its_attempts() -> None:
    """A5 A8"""
    change = follow(Subject(State.RETRY_WAIT, attempt=2), Event.DUE)

    assert (change.to, change.attempt, change.due) == (State.PENDING, 2, None)


def test_an_exhausted_quota_suspends_with_its_reason_and_uses_no_attempt() -> None:
    """A7"""
    cause = Cause(Event.SUSPEND, reason="QUOTA", error="the wallet is empty")

    change = follow(Subject(State.RUNNING, attempt=1), cause)

    assert (change.to, change.attempt, change.due) == (State.SUSPENDED, 0, None)
    assert (change.reason, change.error) == ("QUOTA", "the wallet is empty")


def test_a_bad_request_fails_at_once_whatever_the_policy_has_left() -> None:
    """A7"""
    change = follow(Subject(State.RUNNING, attempt=1), Cause(Event.FAIL, error="400"))

    assert (change.to, change.attempt, change.error) == (State.FAILED, 1, "400")


def test_a_changed_epoch_makes_a_running_job_stale() -> None:
    """B5"""
    change = follow(Subject(State.RUNNING), Cause(Event.STALE, reason="epoch 3 is 4 now"))

    assert (change.to, change.attempt, change.reason) == (State.STALE, 1, "epoch 3 is 4 now")


def test_a_skip_succeeds_with_its_reason() -> None:
    """X4"""
    change = follow(Subject(State.RUNNING), Cause(Event.SKIP, reason="no trading today"))

    assert (change.to, change.reason) == (State.SUCCESS, "no trading today")


@pytest.mark.parametrize(("asked", "delay"), [(90, 90), (0.5, 0.5), (0, 0), (None, 0), (-5, 0)])
def test_waiting_takes_as_long_as_was_asked_and_refunds_the_attempt(
    asked: float | None, delay: float
) -> None:
    """X4: without the policy's curve, jitter or floor."""
    job = Subject(State.RUNNING, attempt=2)

    change = follow(job, Cause(Event.WAIT, reason="market closed", after=asked), draw=0.5)

    assert (State.RETRY_WAIT, 1, NOW + delay) == (change.to, change.attempt, change.due)
    assert change.reason == "market closed"


def test_waiting_is_allowed_in_the_last_attempt() -> None:
    """X4"""
    change = follow(Subject(State.RUNNING, attempt=3), Cause(Event.WAIT, after=5))

    assert (change.to, change.attempt) == (State.RETRY_WAIT, 2)


def test_a_job_given_back_is_pending_at_once_with_its_attempt_refunded() -> None:
    """X4"""
    change = follow(Subject(State.RUNNING, attempt=3), Event.GIVE_BACK)

    assert (change.to, change.attempt, change.due) == (State.PENDING, 2, None)


def test_a_refund_never_goes_below_nothing() -> None:
    """X4"""
    assert follow(Subject(State.RUNNING, attempt=0), Event.GIVE_BACK).attempt == 0


@pytest.mark.parametrize("state", [State.PENDING, State.RETRY_WAIT])
def test_suspending_a_job_that_does_not_run_refunds_nothing(state: State) -> None:
    """A5"""
    change = follow(Subject(state, attempt=1), Cause(Event.SUSPEND, reason="by hand"))

    assert (change.to, change.attempt, change.reason) == (State.SUSPENDED, 1, "by hand")


@pytest.mark.parametrize("state", [State.SUSPENDED, State.RETRY_WAIT])
@pytest.mark.parametrize("asked", [None, 0, -5])
def test_a_resumed_job_is_pending_at_once(state: State, asked: float | None) -> None:
    """A5"""
    change = follow(Subject(state), Cause(Event.RESUME, after=asked))

    assert (change.to, change.attempt, change.due) == (State.PENDING, 1, None)


@pytest.mark.parametrize("asked", [0.5, 60])
def test_a_job_resumed_for_later_waits_until_then(asked: float) -> None:
    """X4: so that a thousand resumed jobs can be spread over a minute."""
    change = follow(Subject(State.SUSPENDED), Cause(Event.RESUME, after=asked))

    assert (change.to, change.due) == (State.RETRY_WAIT, NOW + asked)


@pytest.mark.parametrize("state", [State.FAILED, State.STALE, State.CANCELLED])
@pytest.mark.parametrize(
    ("asked", "to", "due"), [(None, State.PENDING, None), (60, State.RETRY_WAIT, NOW + 60)]
)
def test_a_replay_starts_over_with_all_attempts(
    state: State, asked: float | None, to: State, due: float | None
) -> None:
    """X1"""
    change = follow(Subject(state, attempt=3), Cause(Event.REPLAY, after=asked))

    assert (to, 0, due) == (change.to, change.attempt, change.due)


@pytest.mark.parametrize("state", [State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED])
def test_a_job_that_is_not_finished_can_be_cancelled(state: State) -> None:
    """A5"""
    change = follow(Subject(state, attempt=2), Cause(Event.CANCEL, reason="by ann"))

    assert (change.to, change.attempt, change.reason) == (State.CANCELLED, 2, "by ann")


def test_a_job_that_kills_its_worker_every_time_ends_failed() -> None:
    """X1 A8: a lost lease spends an attempt, so nobody resurrects it for ever."""
    job, claims = Subject(State.PENDING, attempt=0), 0
    while job.state not in FINAL:
        job = after(job, Event.CLAIM)
        claims += 1
        job = after(job, Event.LEASE_LOST)
        if job.state is State.RETRY_WAIT:
            job = after(job, Event.DUE)

    assert State.FAILED is job.state
    assert (claims, job.attempt) == (3, 3)


def test_quick_retries_are_followed_by_the_slow_ones_and_then_by_failure() -> None:
    """E3 E4"""
    policy = RetryPolicy(11, (Backoff(1, attempts=5), Backoff(60)))
    job, waited = Subject(State.PENDING, attempt=0), list[float]()
    while True:
        job = after(job, Event.CLAIM, policy)
        due = follow(job, Event.RETRY, policy).due
        job = after(job, Event.RETRY, policy)
        if due is None:
            break
        waited.append(due - NOW)
        job = after(job, Event.DUE, policy)

    assert waited == [1, 2, 4, 8, 16, 60, 120, 240, 480, 960]
    assert State.FAILED is job.state


CAUSES = st.builds(
    Cause,
    st.sampled_from(Event),
    st.none() | st.just("a reason"),
    st.none() | st.just("an error"),
    st.none() | st.floats(min_value=-10, max_value=1000),
)
POLICIES = st.builds(RetryPolicy, st.integers(1, 4))


@given(policy=POLICIES, causes=st.lists(CAUSES, max_size=60))
def test_no_sequence_of_events_passes_the_maximum_or_revives_a_finished_job(
    policy: RetryPolicy, causes: list[Cause]
) -> None:
    """X1: whatever happens in whatever order, legal or not."""
    job = Subject(State.PENDING, attempt=0)
    for cause in causes:
        decision = decide(job, cause, policy, NOW, 0.0)
        if isinstance(decision, Refusal):
            continue

        assert 0 <= decision.attempt <= policy.max_attempts
        assert decision.to in {State.RUNNING, *FINAL} or decision.attempt < policy.max_attempts
        assert job.state not in FINAL or cause.event is Event.REPLAY
        assert (decision.to is State.RETRY_WAIT) == (decision.due is not None)
        assert decision.due is None or decision.due >= NOW
        job = replace(job, state=decision.to, attempt=decision.attempt)


@given(
    policy=POLICIES,
    ends=st.lists(st.sampled_from([Event.RETRY, Event.TIMEOUT, Event.LEASE_LOST]), min_size=4),
)
def test_failures_alone_end_a_job_after_exactly_the_maximum(
    policy: RetryPolicy, ends: list[Event]
) -> None:
    """X1 X4"""
    job, claims = Subject(State.PENDING, attempt=0), 0
    for event in ends:
        if job.state in FINAL:
            break
        job = after(after(job, Event.CLAIM, policy), event, policy)
        claims += 1
        if job.state is State.RETRY_WAIT:
            job = after(job, Event.DUE, policy)

    assert State.FAILED is job.state
    assert policy.max_attempts == claims
