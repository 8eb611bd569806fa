"""Each fault of the model, over real HTTP, leads where the document says (A5, A7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dure import State
from dure_sandbox import Fault
from newsroom.prompts import KINDS
from newsroom.report import Report

if TYPE_CHECKING:
    from pathlib import Path

    from apps.newsroom.tests.conftest import OpenDesk

WAITS = (State.RETRY_WAIT, None)
FAILS = (State.FAILED, None)
DONE = (State.SUCCESS, None)
MATRIX: dict[str, tuple[State, str | None]] = {
    "throttle": WAITS,
    "rate_limit": WAITS,
    "slow_down": WAITS,
    "server_error": WAITS,
    "overloaded": WAITS,
    "conflict": WAITS,
    "reset": WAITS,
    "stall": WAITS,
    "slow_body": WAITS,
    "cut_body": WAITS,
    "cut_json": WAITS,
    "wrong_schema": WAITS,
    "insufficient_quota": (State.SUSPENDED, "QUOTA"),
    "insufficient_balance": (State.SUSPENDED, "QUOTA"),
    "credit_exhausted": (State.SUSPENDED, "QUOTA"),
    "spend_limit": (State.SUSPENDED, "QUOTA"),
    "unauthorized": (State.SUSPENDED, "AUTH"),
    "permission": (State.SUSPENDED, "MODEL"),
    "region": (State.SUSPENDED, "REGION"),
    "model_not_found": (State.SUSPENDED, "MODEL"),
    "bad_request": FAILS,
    "invalid_schema": FAILS,
    "refusal": DONE,
    "content_filter": DONE,
    "content_policy": DONE,
}
UNFINISHED = f"state:pending,running,retry_wait kind:{','.join(KINDS)},ARTICLE,SECTION,CRAWL"


@pytest.mark.slow
@pytest.mark.parametrize("kind", MATRIX)
async def test_a_fault_of_the_model_leads_where_the_document_says(
    kind: str, open_desk: OpenDesk, tmp_path: Path
) -> None:
    """A5 A7"""
    state, reason = MATRIX[kind]
    fault = Fault(kind=kind, site="ai", count=1, seconds=30, rate=64)
    store = str(tmp_path / "newsroom.db")
    async with open_desk(store, fault, ai_timeout="300ms") as desk:
        await desk.newsroom.app.fire("crawl")
        await desk.settled("kind:SUMMARY -state:pending -state:running")
        struck = f"kind:SUMMARY state:{state.name.lower()}"
        await desk.settled(f"{struck} reason:{reason}" if reason else struck)

        assert 1 == len(desk.sandbox.log.find(fault=kind))


async def test_with_faults_everywhere_all_is_accounted_for_on_both_stores(
    open_desk: OpenDesk, store_url: str
) -> None:
    """A1 A3 A5"""
    faults = (
        Fault(kind="status", site="news", status=500, share=0.05),
        Fault(kind="reset", site="news", share=0.02),
        Fault(kind="status", site="ai", status=500, share=0.05),
        Fault(kind="wrong_schema", site="ai", share=0.03),
        Fault(kind="refusal", site="ai", share=0.03),
        Fault(kind="bad_request", site="ai", share=0.01),
    )
    async with open_desk(store_url, *faults, retry_base="100ms", attempts_max=10) as desk:
        await desk.newsroom.app.fire("crawl")
        await desk.settled("kind:ARTICLE state:success")
        await desk.settled("kind:CRAWL state:success", 1)
        await desk.settled("kind:SECTION state:success", 8)
        await desk.settled(UNFINISHED, 0)
        account = await Report(desk.newsroom.app, desk.newsroom.records, 200).account()

    assert () == account.differences
    assert account.complete > 30
    assert sum(account.articles.values()) >= 50
