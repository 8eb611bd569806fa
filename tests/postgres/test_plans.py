"""Hot statements find their rows by index or by address, whatever the statistics say."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Final

import psycopg
import pytest

from dure.core.decide import Transition
from dure.core.state import Event, State
from dure.core.stream import pack
from dure.ports.rows import Ask, Change, Claim, NewJob
from dure.stores.postgres import PostgresStore
from dure.stores.postgres.line import CALM, HOT
from dure.stores.statement import read
from dure.testing.postgres import OwnServer

STREAMS: Final = tuple(pack(lane, 1, 2) for lane in range(1, 101))
STATEMENTS: Final = (
    *("claim", "heads", "enqueue", "enqueue_plain", "key_take", "key_holders", "finish", "park"),
    *("note_attempts", "settled", "standing", "epoch_of", "key_free", "tally", "beat"),
)
CALM_STATEMENTS: Final = {"beat"}
BIG: Final = ("dure_live", "dure_history", "dure_attempt", "dure_key", "dure_epoch", "dure_tally")
BY_INDEX: Final = {"Index Scan": "Index Cond", "Index Only Scan": "Index Cond"}
BY_ADDRESS: Final = {"Tid Scan": "TID Cond"}
HISTORY_ROWS: Final = 200_000

Plan = Mapping[str, Any]


class Session:
    """A connection with the settings of a line, and the hot statements prepared in it."""

    def __init__(self, url: str, settings: Mapping[str, str]) -> None:
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._connection = psycopg.connect(url, options=options, autocommit=True)
        for name in STATEMENTS:
            self._execute(f"prepare {name} as {read('postgres', name)}")
        rows = self._execute(
            "select name, coalesce(array_length(parameter_types, 1), 0) from pg_prepared_statements"
        )
        self._parameters: dict[str, int] = dict(rows)
        for name in STATEMENTS:
            self.plan(name)

    def _execute(self, text: str) -> list[tuple[Any, ...]]:
        cursor = self._connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []

    def plan(self, name: str) -> Plan:
        """The generic plan, made when first asked for and kept like in a line."""
        nothing = ", ".join(["null"] * self._parameters[name])
        arguments = f"({nothing})" if nothing else ""
        return self._explain("format json", f"{name}{arguments}")

    def touched(self, name: str, *arguments: str) -> int:
        """How many pages carrying it out really touches."""
        given = [*arguments, *["null"] * (self._parameters[name] - len(arguments))]
        plan = self._explain("analyze, buffers, format json", f"{name}({', '.join(given)})")
        hit, missed = plan["Shared Hit Blocks"], plan["Shared Read Blocks"]
        return int(hit + missed)

    def _explain(self, options: str, statement: str) -> Plan:
        [(answer,)] = self._execute(f"explain ({options}) execute {statement}")
        plan: Plan = answer[0]["Plan"]
        return plan

    def close(self) -> None:
        self._connection.close()


def faults(name: str, plan: Plan, above: Plan | None = None) -> Iterator[str]:
    """Every place where the plan reads a table that grows without knowing where to look."""
    table, kind = plan.get("Relation Name", ""), plan["Node Type"]
    if table.startswith(BIG) and kind != "ModifyTable":
        condition = (BY_INDEX | BY_ADDRESS).get(kind)
        first_stream = (
            name == "heads" and kind in BY_INDEX and (above or {})["Node Type"] == "Limit"
        )
        if condition not in plan and not first_stream:
            yield f"{name}: {kind} on {table}"
    if kind in {"Hash Join", "Merge Join"} or (kind == "Sort" and name in {"claim", "heads"}):
        yield f"{name}: {kind}"
    for below in plan.get("Plans", ()):
        yield from faults(name, below, plan)


def all_faults(hot: Session, calm: Session) -> list[str]:
    return [
        fault
        for name in STATEMENTS
        for fault in faults(name, (calm if name in CALM_STATEMENTS else hot).plan(name))
    ]


def array(numbers: Sequence[int]) -> str:
    return f"'{{{', '.join(map(str, numbers))}}}'"


def fill(connection: psycopg.Connection[Any], first: int, last: int) -> None:
    """Waiting jobs with these ids, spread over the streams."""
    connection.execute(
        """
        insert into dure_live (id, stream, pos, enqueued_at, state, ready, body)
        select n, (%s::bigint[])[1 + n %% 100], n, 0, 0, true, repeat('x', 200)
        from generate_series(%s::bigint, %s::bigint) n""",
        (list(STREAMS), first, last),
    )


def fill_history(connection: psycopg.Connection[Any], rows: int) -> None:
    """Finished jobs, all of one day, with ids below those of the waiting ones."""
    connection.execute(
        """
        insert into dure_history (id, stream, enqueued_at, finished_at, epoch, fence, tokens, state,
                                  attempt, body)
        select -n, 65542, 0, extract(epoch from clock_timestamp())::float8, 0, 1, 0,
               4 + n %% 4, 1, '{}'
        from generate_series(1, %s) n""",
        (rows,),
    )


@pytest.fixture(scope="module")
def migrated(postgres_server: OwnServer) -> Iterator[str]:
    """A database of this module's own, in which nobody gathers statistics by himself."""

    async def migrate(url: str) -> None:
        store = PostgresStore(url)
        await store.open()
        await store.close()

    with postgres_server.database() as url:
        asyncio.run(migrate(url))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                """
                do $$ declare name regclass; begin
                  execute format('alter database %I set synchronous_commit = off',
                                 current_database());
                  for name in select oid from pg_class
                              where relname like 'dure%' and relkind = 'r' loop
                    execute format('alter table %s set (autovacuum_enabled = off)', name);
                  end loop;
                end $$"""
            )
        yield url


@pytest.fixture
def desk(migrated: str) -> Iterator[psycopg.Connection[Any]]:
    """Someone who fills tables; they are empty again afterwards."""
    with psycopg.connect(migrated, autocommit=True) as connection:
        connection.execute("truncate dure_live, dure_history, dure_attempt, dure_key, dure_tally")
        connection.execute("vacuum analyze")
        yield connection


@pytest.fixture
def sessions() -> Iterator[list[Session]]:
    opened: list[Session] = []
    yield opened
    for session in opened:
        session.close()


def test_no_hot_statement_reads_more_of_a_table_than_it_needs(
    migrated: str, desk: psycopg.Connection[Any], sessions: list[Session]
) -> None:
    """X14 X21: not even when it was planned, or the statistics taken, while nothing waited."""

    def pair() -> tuple[Session, Session]:
        sessions.extend((Session(migrated, HOT), Session(migrated, CALM)))
        return sessions[-2], sessions[-1]

    planned_while_empty = pair()
    fill(desk, 1, 10_000)
    fill_history(desk, HISTORY_ROWS)
    counted_while_empty = pair()
    assert all_faults(*planned_while_empty) == []
    assert all_faults(*counted_while_empty) == []

    desk.execute("analyze")
    assert all_faults(*pair()) == []
    assert all_faults(*planned_while_empty) == []


def test_a_plan_that_reads_a_whole_table_would_be_found(
    migrated: str, desk: psycopg.Connection[Any], sessions: list[Session]
) -> None:
    """The check above can fail: without the settings of a line these plans are bad ones."""
    sessions.append(Session(migrated, {**CALM, "plan_cache_mode": "force_generic_plan"}))
    fill(desk, 1, 1_000)

    found = all_faults(sessions[0], sessions[0])

    assert any(fault.startswith(("finish: ", "claim: ", "heads: ")) for fault in found)


def test_claiming_and_finishing_cost_the_same_however_much_waits(
    migrated: str, desk: psycopg.Connection[Any], sessions: list[Session]
) -> None:
    """X14: 100 jobs of 10 streams, with 1,000 and with 100,000 waiting."""
    hot = Session(migrated, HOT)
    sessions.append(hot)
    ask = [*map(array, (STREAMS[:10], [10] * 10, [0] * 10)), "1"]

    def costs() -> tuple[int, int]:
        claiming = hot.touched("claim", *ask)
        rows = desk.execute("select id, fence from dure_live where state = 1").fetchall()
        ids, fences = ([row[n] for row in rows] for n in (0, 1))
        columns: Sequence[Sequence[object]] = (ids, fences, [1] * 100, [4] * 100)
        texts = ["array[null]::text[]"] * 3
        finishing = hot.touched(
            "finish", *(f"'{{{', '.join(map(str, c))}}}'" for c in columns), *texts
        )
        [(finished,)] = desk.execute("select count(*) from dure_history where id > 0").fetchall()
        assert finished == len(ids) == 100
        desk.execute("delete from dure_history where id > 0")
        return claiming, finishing

    fill_history(desk, HISTORY_ROWS // 10)
    fill(desk, 1, 1_000)
    few = costs()
    fill(desk, 1_001, 100_000)
    many = costs()

    assert many[0] < 2 * few[0]
    assert many[1] < 2 * few[1]


@pytest.fixture
async def store(migrated: str) -> AsyncIterator[PostgresStore]:
    opened = PostgresStore(migrated)
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize("body", ["{}", '{"url":"https://shop.example/1"}', f'"{"x" * 1000}"'])
@pytest.mark.parametrize("step", [1, 20])
async def test_claims_of_fresh_jobs_touch_no_index(
    desk: psycopg.Connection[Any], store: PostgresStore, body: str, step: int
) -> None:
    """X14: what a claim writes is in no index, and its page has room for the new version."""
    desk.execute("select pg_stat_reset()")
    await store.enqueue([NewJob(stream, body) for stream in STREAMS] * 20)

    claims: list[Claim] = []
    for _ in range(20 // step):
        claims += await store.claim(1, [Ask(stream, step, 0) for stream in STREAMS])
    async with store._line("claim", HOT).use() as connection:
        await connection.execute("select pg_stat_force_next_flush()")

    counts = desk.execute(
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'dure_live'"
    ).fetchone()
    assert len(claims) == 2000
    assert counts == (2000, 2000)


async def test_the_plans_are_those_that_the_store_really_uses(
    desk: psycopg.Connection[Any], store: PostgresStore
) -> None:
    """Its lines have these settings: nothing on the way to the server drops them."""
    [receipt] = await store.enqueue([NewJob(STREAMS[0], "{}")])
    [claim] = await store.claim(1, [Ask(STREAMS[0], 1, 0)])
    done = Transition(receipt.id, claim.fence, State.RUNNING, Event.SUCCEED, State.SUCCESS, 1)
    await store.apply([Change(done, STREAMS[0])])
    await store.heads(0)

    for line in ("enqueue", "claim", "finish", "scan"):
        async with store._line(line, HOT).use() as connection:
            used = {name: await connection.fetchval(f"show {name}") for name in HOT}
            assert dict(HOT) == used, line
