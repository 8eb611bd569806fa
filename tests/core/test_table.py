"""The transition table, written down a second time: what is legal, where it leads, what it does."""

import pytest

from dure.core.state import FINAL, LIVE, Event, State
from dure.core.table import NEW, TABLE, Effect, Row, diagram, refusal, sources_of, targets_of

EXPECTED = """
(none)     enqueue    > PENDING RETRY_WAIT  : new_position set_due
PENDING    claim      > RUNNING             : spend_attempt grant_lease
PENDING    suspend    > SUSPENDED           : set_reason
PENDING    stale      > STALE               : drop_lease set_reason stamp_finish
PENDING    cancel     > CANCELLED           : drop_lease set_reason stamp_finish
RUNNING    succeed    > SUCCESS             : drop_lease stamp_finish
RUNNING    skip       > SUCCESS             : drop_lease set_reason stamp_finish
RUNNING    retry      > RETRY_WAIT FAILED   : drop_lease record_error set_due
RUNNING    timeout    > RETRY_WAIT FAILED   : drop_lease record_error set_due
RUNNING    lease_lost > RETRY_WAIT FAILED   : drop_lease record_error set_due
RUNNING    wait       > RETRY_WAIT          : drop_lease refund_attempt set_reason set_due
RUNNING    give_back  > PENDING             : drop_lease refund_attempt new_position
RUNNING    suspend    > SUSPENDED           : drop_lease refund_attempt set_reason record_error
RUNNING    fail       > FAILED              : drop_lease record_error stamp_finish
RUNNING    stale      > STALE               : drop_lease set_reason stamp_finish
RUNNING    cancel     > CANCELLED           : drop_lease set_reason stamp_finish
RETRY_WAIT due        > PENDING             : new_position
RETRY_WAIT resume     > PENDING RETRY_WAIT  : new_position set_due
RETRY_WAIT suspend    > SUSPENDED           : set_reason
RETRY_WAIT stale      > STALE               : drop_lease set_reason stamp_finish
RETRY_WAIT cancel     > CANCELLED           : drop_lease set_reason stamp_finish
SUSPENDED  resume     > PENDING RETRY_WAIT  : new_position set_due
SUSPENDED  stale      > STALE               : drop_lease set_reason stamp_finish
SUSPENDED  cancel     > CANCELLED           : drop_lease set_reason stamp_finish
FAILED     replay     > PENDING RETRY_WAIT  : clear_finish reset_attempts new_position set_due
STALE      replay     > PENDING RETRY_WAIT  : clear_finish reset_attempts new_position set_due
CANCELLED  replay     > PENDING RETRY_WAIT  : clear_finish reset_attempts new_position set_due
"""
"""Source, event > targets (the rule first, then the exceptions) : effects."""

Pair = tuple[State | None, Event]
Change = tuple[tuple[State, ...], frozenset[Effect]]

ALL_PAIRS: list[Pair] = [(state, event) for state in (NEW, *State) for event in Event]


def read(line: str) -> tuple[Pair, Change]:
    pair, rest = line.split(">")
    targets, effects = rest.split(":")
    source, event = pair.split()
    return (
        (NEW if source == "(none)" else State[source], Event(event)),
        (tuple(State[name] for name in targets.split()), frozenset(map(Effect, effects.split()))),
    )


LEGAL: dict[Pair, Change] = dict(map(read, EXPECTED.strip().splitlines()))


def named(pair: Pair) -> str:
    state, event = pair
    return f"{'none' if state is None else state.name}-{event}"


def ordered_targets(row: Row) -> tuple[State, ...]:
    return tuple(state for state in (row.to, row.later, row.spent) if state is not None)


@pytest.mark.parametrize("pair", ALL_PAIRS, ids=named)
def test_every_pair_is_legal_as_written_here_or_refused_with_a_sentence(pair: Pair) -> None:
    """X1 A5"""
    sentence = refusal(*pair)

    if pair in LEGAL:
        assert sentence is None
        assert LEGAL[pair] == (ordered_targets(TABLE[pair]), frozenset(TABLE[pair].effects))
    else:
        assert pair not in TABLE
        assert sentence is not None
        assert len(sentence.split()) > 4


def test_the_states_keep_the_numbers_the_stores_hold() -> None:
    """X1"""
    assert {state.name: state.value for state in State} == {
        "PENDING": 0,
        "RUNNING": 1,
        "RETRY_WAIT": 2,
        "SUSPENDED": 3,
        "SUCCESS": 4,
        "FAILED": 5,
        "STALE": 6,
        "CANCELLED": 7,
    }


def test_live_and_final_states_are_apart_and_complete() -> None:
    """X1"""
    assert {State.SUCCESS, State.FAILED, State.STALE, State.CANCELLED} == FINAL
    assert {State.PENDING, State.RUNNING, State.RETRY_WAIT, State.SUSPENDED} == LIVE


def test_no_row_repeats_an_effect() -> None:
    """X1"""
    assert [pair for pair, row in TABLE.items() if len(set(row.effects)) < len(row.effects)] == []


def test_leaving_running_always_drops_the_lease() -> None:
    """X1"""
    leaving = [row for (state, _), row in TABLE.items() if state is State.RUNNING]

    assert leaving
    assert all(Effect.DROP_LEASE in row.effects for row in leaving)


def test_entering_running_always_grants_a_lease_and_nothing_else_does() -> None:
    """X1"""
    for row in TABLE.values():
        assert (State.RUNNING in row.targets) == (Effect.GRANT_LEASE in row.effects)


def test_entering_running_always_spends_an_attempt_and_nothing_else_does() -> None:
    """X1"""
    for row in TABLE.values():
        assert (State.RUNNING in row.targets) == (Effect.SPEND_ATTEMPT in row.effects)


def test_final_targets_and_only_they_stamp_a_finish() -> None:
    """X1: a row whose attempts are spent finishes by its `spent` target."""
    for row in TABLE.values():
        assert (row.to in FINAL) == (Effect.STAMP_FINISH in row.effects)
        assert row.later not in FINAL
        assert row.spent in {None, State.FAILED}


def test_final_states_are_left_only_by_replay() -> None:
    """X1"""
    for (state, event), row in TABLE.items():
        if state in FINAL:
            assert event is Event.REPLAY
            assert {Effect.CLEAR_FINISH, Effect.RESET_ATTEMPTS} <= set(row.effects)
        else:
            assert event is not Event.REPLAY
            assert Effect.CLEAR_FINISH not in row.effects


def test_becoming_ready_always_takes_a_new_position() -> None:
    """X1: the mark of a claimer never hides a job that came back."""
    for row in TABLE.values():
        if State.PENDING in row.targets:
            assert Effect.NEW_POSITION in row.effects


def test_only_a_row_that_waits_sets_a_due_time() -> None:
    """X1"""
    for row in TABLE.values():
        if Effect.SET_DUE in row.effects:
            assert State.RETRY_WAIT in row.targets


def test_every_state_is_reachable() -> None:
    """X1 A5"""
    reached: set[State | None] = {NEW}
    while True:
        further = reached | {
            t for (s, _), row in TABLE.items() if s in reached for t in row.targets
        }
        if further == reached:
            break
        reached = further

    assert {NEW, *State} == reached


@pytest.mark.parametrize("state", sorted(LIVE), ids=lambda state: state.name)
def test_every_live_state_has_a_way_to_a_final_one(state: State) -> None:
    """X1"""
    reached = {state}
    while not reached & FINAL:
        further = reached | {
            t for (s, _), row in TABLE.items() if s in reached for t in row.targets
        }
        assert further != reached
        reached = further


def test_only_a_suspended_job_needs_somebody_to_go_on() -> None:
    """X1 A5"""
    by_itself = {Event.DUE, Event.CLAIM, Event.SUCCEED}

    moved_on = {state for state, event in TABLE if event in by_itself}

    assert LIVE - {State.SUSPENDED} == moved_on


def test_sources_and_targets_of_an_event_are_those_of_its_rows() -> None:
    """X1"""
    for event in Event:
        rows = {pair: change for pair, change in LEGAL.items() if pair[1] is event}

        assert {state for state, _ in rows} - {NEW} == sources_of(event)
        assert {state for targets, _ in rows.values() for state in targets} == targets_of(event)


@pytest.mark.parametrize(
    ("state", "event", "sentence"),
    [
        (NEW, Event.CLAIM, "claim needs a job that exists: enqueue it first"),
        (State.SUSPENDED, Event.ENQUEUE, "the job exists already and is SUSPENDED"),
        (
            State.PENDING,
            Event.RESUME,
            "resume needs a job that is RETRY_WAIT or SUSPENDED; this one is PENDING",
        ),
        (
            State.FAILED,
            Event.CANCEL,
            "the job is finished (FAILED); only replay can bring back a job, and cancel does not",
        ),
        (
            State.SUCCESS,
            Event.REPLAY,
            (
                "the job is finished (SUCCESS); only replay can bring back a job, "
                "and a successful one is enqueued anew instead"
            ),
        ),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_do(
    state: State | None, event: Event, sentence: str
) -> None:
    """X1"""
    assert sentence == refusal(state, event)


def test_the_diagram_shows_every_row_once_and_every_end() -> None:
    """X1"""
    head, *lines = diagram().splitlines()
    edges = {line.strip().partition(": ")[0]: line.partition(": ")[2] for line in lines}
    labels: dict[str, set[str]] = {edge: set(text.split(", ")) for edge, text in edges.items()}
    expected: dict[str, set[str]] = {f"{state.name} --> [*]": {""} for state in FINAL}
    for (state, event), (targets, _) in LEGAL.items():
        for target, note in zip(targets, ("", exception(targets)), strict=False):
            start = "[*]" if state is None else state.name
            expected.setdefault(f"{start} --> {target.name}", set()).add(f"{event}{note}")

    assert head == "stateDiagram-v2"
    assert len(lines) == len(edges)
    assert expected == labels


def exception(targets: tuple[State, ...]) -> str:
    return " (spent)" if State.FAILED in targets else " (due later)"
