"""Effects: what commits together with a job's new state, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dure.core.outcome import Guard, Write
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Applied, Effects, NewJob
from dure.scripts import epochs

if TYPE_CHECKING:
    from tests.conformance.conftest import Yard

STREAM = pack(1, 1, 2)
NEXT = pack(1, 2, 2)

ADD = "insert into note (name, value) values (:name, :value)"
RAISE = "update note set value = value + :step where name = :name"
COPY = "insert into note (name, value) select :copy, value from note where name = :name"
READ = "select value from note where name = :name"


def add(name: str, value: object = 1) -> Write:
    return Write(ADD, {"name": name, "value": value})


async def test_writes_and_follow_ups_commit_with_the_state(yard: Yard) -> None:
    """X3"""
    claim = await yard.take_one()
    then = [NewJob(NEXT, "a", parent=claim.id), NewJob(NEXT, "b", delay=60.0, key="k")]
    effects = Effects([add("x", 1), add("y", 2)], then)

    applied = await yard.end(claim, Event.SUCCEED, effects=effects, result="3")

    assert Applied(streams=[NEXT]) == applied
    assert State.SUCCESS is await yard.state(claim.id)
    assert "3" == (await yard.past(claim.id) or {})["result"]
    assert {"x": 1, "y": 2} == await yard.notes()
    assert ["a"] == [job.body for job in await yard.take(stream=NEXT)]
    yard.clock.advance(61.0)
    rows = await yard.ask("select body, due, parent from dure_live where state = 2")
    assert [("b", yard.clock.now() - 1.0)] == [(row["body"], row["due"]) for row in rows]


async def test_effects_happen_only_when_the_job_succeeds(yard: Yard) -> None:
    """X3"""
    effects = Effects([add("x")], [NewJob(NEXT, "a")])
    for event in (Event.RETRY, Event.FAIL, Event.SUSPEND, Event.CANCEL):
        claim = await yard.take_one()
        await yard.end(claim, event, effects=effects)

    assert {} == await yard.notes()
    assert [] == await yard.take(stream=NEXT)


@pytest.mark.parametrize(
    "wrong",
    [
        add("taken"),
        add("x", None),
        add("x", "not a number at all"),
        add("x", 1 << 80),
        add("x", object()),
        add("\ud800"),
        Write(ADD, {"name": "x"}),
        Write("insert into nowhere values (1)"),
        Write("this is no statement"),
        Write("delete from note; delete from note"),
    ],
    ids=[
        *("duplicate", "null", "text", "huge", "object", "surrogate", "missing", "table"),
        *("syntax", "two"),
    ],
)
async def test_a_failing_write_breaks_only_its_own_job(yard: Yard, wrong: Write) -> None:
    """X3: in a group of 50, nothing of the broken one is applied and all of the others is."""
    await yard.ask("insert into note (name, value) values ('taken', 0)")
    await yard.put(50)
    claims = await yard.take()
    changes = [
        yard.change(
            claim,
            Event.SUCCEED,
            effects=Effects([add(f"job {claim.id}"), *bad], [NewJob(NEXT, str(claim.id))]),
        )
        for n, claim in enumerate(claims)
        for bad in ([wrong] if n == 31 else [],)
    ]
    if yard.store.dialect == "sqlite" and wrong.params.get("value") == "not a number at all":
        await yard.ask(
            "create trigger typed before insert on note when typeof(new.value) = 'text'"
            " begin select raise(abort, 'no number'); end"
        )

    applied = await yard.store.apply(changes)

    culprit = claims.pop(31).id
    assert (frozenset(), frozenset()) == (applied.refused, applied.stale)
    assert [culprit] == list(applied.broken)
    assert applied.broken[culprit]
    assert State.RUNNING is await yard.state(culprit)
    assert {"taken", *(f"job {claim.id}" for claim in claims)} == set(await yard.notes())
    follow_ups = await yard.take(stream=NEXT)
    assert [str(claim.id) for claim in claims] == sorted((j.body for j in follow_ups), key=int)
    for claim in claims:
        assert State.SUCCESS is await yard.state(claim.id)


async def test_a_broken_job_can_still_be_failed_afterwards(yard: Yard) -> None:
    """X4"""
    claim = await yard.take_one(key="k")
    applied = await yard.end(claim, Event.SUCCEED, effects=Effects([Write("nonsense")]))

    await yard.end(claim, Event.FAIL, error=applied.broken[claim.id])

    assert State.FAILED is await yard.state(claim.id)
    assert applied.broken[claim.id] == (await yard.past(claim.id) or {})["error"]


async def test_a_follow_up_that_cannot_be_stored_breaks_its_job(yard: Yard) -> None:
    """X3"""
    good, bad = await yard.take_one(), await yard.take_one()
    changes = [
        yard.change(good, Event.SUCCEED, effects=Effects([add("good")])),
        yard.change(bad, Event.SUCCEED, effects=Effects([add("bad")], [NewJob(NEXT, "\x00")])),
    ]

    applied = await yard.store.apply(changes)

    assert [bad.id] == list(applied.broken)
    assert {"good": 1} == await yard.notes()
    assert State.RUNNING is await yard.state(bad.id)


async def test_the_writes_of_a_job_run_in_the_order_given(yard: Yard) -> None:
    """X3: even when equal statements lie apart."""
    await yard.put(3)
    changes = [
        yard.change(
            claim,
            Event.SUCCEED,
            effects=Effects(
                [
                    add(f"{claim.id}", 1),
                    Write(COPY, {"name": f"{claim.id}", "copy": f"{claim.id} before"}),
                    Write(RAISE, {"name": f"{claim.id}", "step": 10}),
                    Write(COPY, {"name": f"{claim.id}", "copy": f"{claim.id} after"}),
                ]
            ),
        )
        for claim in await yard.take()
    ]

    applied = await yard.store.apply(changes)

    assert {} == applied.broken
    notes = await yard.notes()
    for change in changes:
        job = change.transition.id
        assert (11, 1, 11) == (notes[f"{job}"], notes[f"{job} before"], notes[f"{job} after"])


async def test_jobs_that_write_differently_keep_their_order_too(yard: Yard) -> None:
    """X3: though equal statements of several jobs may go together."""
    await yard.put(2)
    first, second = await yard.take()
    other = Write(
        "insert into note (value, name) values (:value, :name)", {"name": "b", "value": 1}
    )
    changes = [
        yard.change(job, Event.SUCCEED, effects=Effects([write, Write(RAISE, values)]))
        for job, write, values in (
            (first, add("a"), {"name": "a", "step": 10}),
            (second, other, {"name": "b", "step": 10}),
        )
    ]

    await yard.store.apply(changes)

    assert {"a": 11, "b": 11} == await yard.notes()


async def test_a_guard_that_no_longer_holds_makes_the_job_stale(yard: Yard) -> None:
    """X3: nothing of it is applied; what follows is decided by the engine."""
    await yard.ask("insert into note (name, value) values ('version', 2)")
    old, new = await yard.take_one(), await yard.take_one()
    changes = [
        yard.change(
            claim,
            Event.SUCCEED,
            effects=Effects(
                [add(f"by {version}")],
                [NewJob(NEXT, str(version))],
                Guard(READ, {"name": "version"}, version),
            ),
        )
        for claim, version in ((old, 1), (new, 2))
    ]

    applied = await yard.store.apply(changes)

    assert Applied(stale=frozenset({old.id}), streams=[NEXT]) == applied
    assert State.RUNNING is await yard.state(old.id)
    assert {"version": 2, "by 2": 1} == await yard.notes()
    assert ["2"] == [job.body for job in await yard.take(stream=NEXT)]


async def test_a_guard_sees_what_earlier_jobs_of_its_group_have_written(yard: Yard) -> None:
    """X3: of two that expect the same version, one may raise it."""
    await yard.ask("insert into note (name, value) values ('version', 1)")
    await yard.put(2)
    guarded = Effects(
        [Write(RAISE, {"name": "version", "step": 1})], (), Guard(READ, {"name": "version"}, 1)
    )
    first, second = await yard.take()
    changes = [yard.change(job, Event.SUCCEED, effects=guarded) for job in (first, second)]

    applied = await yard.store.apply(changes)

    assert 1 == len(applied.stale)
    assert {"version": 2} == await yard.notes()


async def test_a_guard_without_an_answer_expects_none(yard: Yard) -> None:
    claim = await yard.take_one()
    effects = Effects([add("x")], (), Guard(READ, {"name": "x"}, None))

    applied = await yard.end(claim, Event.SUCCEED, effects=effects)

    assert frozenset() == applied.stale
    assert {"x": 1} == await yard.notes()


async def test_a_lost_answer_is_no_reason_to_call_a_guarded_job_stale(yard: Yard) -> None:
    """X3: its own write is what moved the guard on."""
    await yard.ask("insert into note (name, value) values ('version', 1)")
    claim = await yard.take_one(subject="s", epoch=1)
    effects = Effects(
        [Write(RAISE, {"name": "version", "step": 1})],
        [NewJob(NEXT, "{}")],
        Guard(READ, {"name": "version"}, 1),
    )
    change = yard.change(claim, Event.SUCCEED, effects=effects)
    await yard.store.apply([change])
    await yard.store.run(epochs.raise_to("s", 9))

    applied = await yard.store.apply([change])

    assert (frozenset(), frozenset(), {}) == (applied.refused, applied.stale, applied.broken)
    assert {"version": 2} == await yard.notes()
    assert 1 == len(await yard.take(stream=NEXT))


@pytest.mark.parametrize(("made_for", "is_stale"), [(4, True), (5, False), (6, False)])
async def test_a_result_for_an_older_epoch_is_stale(
    yard: Yard, made_for: int, is_stale: bool
) -> None:
    """X3 B5"""
    await yard.ask("insert into dure_epoch (subject, epoch) values ('restaurant:9', 5)")
    claim = await yard.take_one(subject="restaurant:9", epoch=made_for, batch=1)

    applied = await yard.end(claim, Event.SUCCEED, effects=Effects([add("x")]))

    assert ({claim.id} if is_stale else frozenset()) == applied.stale
    assert (State.RUNNING if is_stale else State.SUCCESS) is await yard.state(claim.id)
    assert ({} if is_stale else {"x": 1}) == await yard.notes()
    assert [1, 0 if is_stale else 1, 0, 0, 0, 0] == await yard.tally(1)


async def test_a_stale_result_without_effects_is_stale_too(yard: Yard) -> None:
    """B5"""
    await yard.ask("insert into dure_epoch (subject, epoch) values ('s', 5)")
    claim = await yard.take_one(subject="s", epoch=4)

    applied = await yard.end(claim, Event.SUCCEED, result="1")
    assert {claim.id} == applied.stale

    await yard.end(claim, Event.STALE, reason="epoch 5")
    assert State.STALE is await yard.state(claim.id)


async def test_a_job_of_an_old_epoch_may_still_fail_or_retry(yard: Yard) -> None:
    """B5: only what would be saved must be current."""
    await yard.ask("insert into dure_epoch (subject, epoch) values ('s', 5)")
    claim = await yard.take_one(subject="s", epoch=4)

    applied = await yard.end(claim, Event.FAIL, error="400")

    assert frozenset() == applied.stale
    assert State.FAILED is await yard.state(claim.id)


async def test_follow_ups_join_the_counts_of_their_batch(yard: Yard) -> None:
    """X10"""
    claim = await yard.take_one(batch=1)

    await yard.end(claim, Event.SUCCEED, effects=Effects((), [NewJob(NEXT, "{}", batch=1)] * 3))

    assert [4, 1, 0, 0, 0, 0] == await yard.tally(1)


async def test_words_inside_a_text_are_left_as_they_are(yard: Yard) -> None:
    """X3: a literal that looks like SQL is still a literal."""
    claim = await yard.take_one()
    literal = "ready for update :name = any (:list) :: -- it''s"
    write = Write(f"insert into note (name, value) values ('{literal}', :value)", {"value": 1})

    await yard.end(claim, Event.SUCCEED, effects=Effects([write]))

    assert {literal.replace("''", "'"): 1} == await yard.notes()


async def test_a_list_can_be_a_parameter_and_a_row_can_be_locked(yard: Yard) -> None:
    """X3: one text for both stores."""
    await yard.ask("insert into note (name, value) values ('a', 1), ('b', 2), ('c', 3)")
    claim = await yard.take_one()
    write = Write("update note set value = 0 where name = any (:names)", {"names": ["a", "c"]})
    guard = Guard("select value from note where name = :name for update", {"name": "b"}, 2)

    applied = await yard.end(claim, Event.SUCCEED, effects=Effects([write], (), guard))

    assert (frozenset(), {}) == (applied.stale, applied.broken)
    assert {"a": 0, "b": 2, "c": 0} == await yard.notes()


async def test_one_wrong_write_in_a_large_group_fails_only_its_own_job(yard: Yard) -> None:
    """X3: the group is halved until the culprit stands alone; order and results stay."""
    await yard.put(13)
    claims = await yard.take(13)
    wrong = claims[7]
    changes = [
        yard.change(
            claim,
            Event.SUCCEED,
            effects=Effects(
                [add(f"n{n}") if claim is not wrong else Write("select nothing from nowhere")]
            ),
        )
        for n, claim in enumerate(claims)
    ]

    applied = await yard.store.apply(changes)

    assert [wrong.id] == list(applied.broken)
    assert {f"n{n}": 1 for n in range(13) if n != 7} == await yard.notes()
