"""A filter means the same in SQL as `JobFilter.matches` says, on both stores."""

from __future__ import annotations

import random
from itertools import product
from typing import TYPE_CHECKING

import pytest

from dure.core.filter import JobFilter, Match, Op, Term, Text
from dure.core.state import Event, Priority, State
from dure.core.stream import KINDS_MAX, pack
from dure.scripts import jobs
from dure.scripts.matching import condition_of
from dure.stores import statement

if TYPE_CHECKING:
    from tests.scripts.conftest import Stage

ALL = JobFilter()
BODIES = (
    "{}",
    '{"code": "005930", "page": 7, "deep": {"er": true}}',
    '{"code": 5930, "page": 7.0, "deep": {"er": false}}',
    '{"code": "a%b_c\'d", "page": null, "deep": [1, {"er": 2}]}',
    '{"code": ["005930"], "page": -0.5, "deep": {"er": "Über"}, "0day": "x"}',
    '{"code": "nul\\u0000", "page": "7", "deep": "er", "a-b": 1}',
    "[1, 2]",
)
FILTERS = (
    *("", "state:failed", "state:pending", "state:success", "state!=success", "-state:failed"),
    *("state:failed,stale,pending", "state:failed state:stale", "state:running,retry_wait"),
    *("kind:fetch", "kind:fetch.*", "kind:*page", "kind:*tch*", "kind:FETCH", "kind:*", "-kind:*"),
    *("kind:fetch,none", "kind!=fetch,fetch.page", "lane:acme", "lane:*", "lane!=acme", "lane:아*"),
    *("priority:high", "priority:high,low", "priority!=normal"),
    *("id:3", "id:1,2,900", "id!=1", "id>4", "id>=4 id<9", f"id<{2**63 - 1}", "-id:2,3"),
    *("attempt:1", "attempt>0", "attempt<=0", "attempt!=1", f"attempt<{2**63 - 1}"),
    *("batch:42", "batch!=42", "-batch:42,43", "batch:42,43"),
    *("session:nightly", "session:*", "-session:*", "session!=nightly", 'session:""', "session:n*"),
    *("reason:QUOTA", "reason!=QUOTA", "reason:*A", "reason:quota"),
    *("error:Timeout", "error:timed", 'error:"timed out"', "-error:*", "error:%", "error:*out"),
    *('error:"a_b"', "error!=Timeout", 'error:"it\'s"', 'error:"back\\\\slash"', "error:;drop"),
    *("args.code:005930", "args.code:5930", "args.code!=005930", "args.code:*", "-args.code:*"),
    *("args.page:7", "args.page:7.0", "args.page:-0.5", "args.page:7*", "args.page:null"),
    *("args.deep.er:true", "args.deep.er:false", "args.deep.er:Ü*", "args.deep.1.er:2"),
    *("args.deep:*", "args.deep.er:*", "args.0day:x", "args.a-b:1", "args.code:nul*", "args.0:1"),
    *('args.code:"a%b_c\'d"', "args.code:a%*", "args.code:*_c*", "args.none:x", "args.none!=x"),
    *("age>1h", "age<1h", "age>=0s", "age<=50s", "finished<30m", "finished>=30m", "finished>0s"),
    *("finished<=50s", "state:failed finished<1d", "kind:fetch lane:acme -error:* age>1s"),
)


async def crowd(stage: Stage) -> None:
    """Jobs that differ in everything a filter can ask for."""
    errors = ("Timeout: timed out", "a%b", "a_b", "it's", "back\\slash", "", "x;drop table")
    kinds, lanes = ("fetch", "fetch.page", "parse"), ("acme", "아크메")
    for number, (kind, lane, body) in enumerate(product(kinds, lanes, BODIES)):
        stage.clock.advance(97.0)
        stream = await stage.stream(kind, lane, number % len(Priority))
        job = await stage.put(
            stream,
            body=body,
            batch=(None, 42, 43)[number % 3],
            session=(None, "nightly", "", "Nightly")[number % 4],
        )
        if number % 5:
            await stage.claim(job)
        match number % 5:
            case 1:
                await stage.end(job, Event.SUCCEED)
            case 2:
                await stage.end(job, Event.FAIL, error=errors[number % len(errors)])
            case 3 if number % 2:
                await stage.end(job, Event.SUSPEND, reason=("QUOTA", "quota", "")[number % 3])
            case 4:
                await stage.end(job, Event.STALE, reason="QUOTA")


async def everyone(stage: Stage) -> list[jobs.Record]:
    found = await stage.store.read(jobs.find(ALL, now=0.0, limit=1000))
    assert 42 == len(found)
    return found


async def meant(stage: Stage, wanted: JobFilter) -> list[int]:
    script = jobs.find(wanted, now=stage.clock.now(), limit=1000)
    return [record.id for record in await stage.store.read(script)]


async def test_a_filter_finds_on_every_store_what_it_matches(stage: Stage) -> None:
    """X13"""
    await crowd(stage)
    records = await everyone(stage)
    now = stage.clock.now()

    for text in FILTERS:
        wanted = JobFilter.parse(text)
        expected = [record.id for record in records if wanted.matches(record, now)]
        assert expected == await meant(stage, wanted), text


async def test_terms_joined_at_random_find_what_they_match(stage: Stage) -> None:
    """X13"""
    await crowd(stage)
    records = await everyone(stage)
    dice, now = random.Random(5), stage.clock.now()

    for _ in range(80):
        wanted = JobFilter.parse(" ".join(dice.choices(FILTERS, k=dice.randint(2, 4))))
        expected = [record.id for record in records if wanted.matches(record, now)]
        assert expected == await meant(stage, wanted), str(wanted)


async def test_a_filter_as_long_as_can_be_is_not_too_deep_for_a_store(stage: Stage) -> None:
    job = await stage.put(await stage.stream(kind="fetch"))
    many_terms = JobFilter.parse("id>0 " * 790)
    many_values = JobFilter.parse(f"kind:{'a*,' * 1300}fe*")

    assert [job] == await meant(stage, many_terms)
    assert [job] == await meant(stage, many_values)


@pytest.mark.parametrize("match", [Match.PREFIX, Match.SUFFIX, Match.CONTAINS])
async def test_an_empty_part_is_in_every_text_but_not_in_nothing(
    stage: Stage, match: Match
) -> None:
    await stage.put(session=None)
    named = [await stage.put(session="a"), await stage.put(session="")]
    wanted = JobFilter((Term("session", Op.EQ, (Text("", match),)),))

    assert sorted(named) == sorted(await meant(stage, wanted))


def test_no_value_of_a_filter_is_ever_part_of_the_statement() -> None:
    hostile = '"x\') or 1=1 --"'
    wanted = JobFilter.parse(
        f"kind:{hostile} lane:{hostile}* session:*{hostile} error:{hostile} args.code:{hostile} "
        "id:987654 batch:987654 attempt>987654 age>987654s finished<987654s args.secret-key:x"
    )

    condition = condition_of(wanted, now=123456.0)

    for value in ("1=1", "987654", "123456", "secret"):
        assert value not in condition.where


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("", (True, True)),
        ("state:failed", (False, True)),
        ("state:pending,running", (True, False)),
        ("state:failed,pending", (True, True)),
        ("finished>1h", (False, True)),
        ("state:running finished>1h", (False, False)),
        ("-state:success,failed,stale,cancelled", (True, False)),
    ],
)
def test_a_table_in_which_nothing_can_match_is_not_read(
    text: str, tables: tuple[bool, bool]
) -> None:
    condition = condition_of(JobFilter.parse(text), now=0.0)

    assert tables == (condition.live, condition.history)


@pytest.mark.parametrize(
    "text", ["state:failed", "state!=success kind:x", "-state:pending,success"]
)
def test_a_filter_without_successes_can_use_the_index_of_what_ended_badly(text: str) -> None:
    assert "state <> 4" in condition_of(JobFilter.parse(text), now=0.0).where


def test_streams_are_taken_apart_in_sql_as_in_the_core() -> None:
    text = condition_of(JobFilter.parse("kind:a lane:b priority:low"), now=0.0).where

    stream = pack(77, KINDS_MAX - 2, Priority.LOW)
    for part, expected in (
        ("((stream >> 2) & 16383)", KINDS_MAX - 2),
        ("(stream >> 16)", 77),
        ("(stream & 3)", Priority.LOW),
    ):
        assert part in text
        assert expected == eval(part, {"stream": stream})


@pytest.mark.parametrize("store_folder", ["sqlite", "postgres"])
def test_a_condition_and_its_place_go_together(store_folder: str) -> None:
    with pytest.raises(ValueError, match="needs a condition"):
        statement.shared(store_folder, "found_count")
    with pytest.raises(ValueError, match="no place for a condition"):
        statement.shared(store_folder, "job", "state = 1")


def test_the_states_that_only_the_filter_can_name_are_all_there() -> None:
    for state in State:
        where = condition_of(JobFilter.parse(f"state:{state.name}"), now=0.0).where
        assert f"state in ({int(state)})" in where
