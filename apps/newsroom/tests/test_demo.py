"""`newsroom demo` ends by itself, and its account adds up, on both stores."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_the_demonstration_ends_within_two_minutes_and_accounts_for_everything(
    store_url: str,
) -> None:
    """A1-A12 Z3"""
    store = store_url if store_url.startswith("postgres") else ""
    command = Path(sys.executable).with_name("newsroom")
    demo = await asyncio.create_subprocess_exec(
        command,
        "demo",
        env={**os.environ, "STORE": store},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(150):
            out, _ = await demo.communicate()
    finally:
        if demo.returncode is None:
            demo.kill()
    text = out.decode()

    assert 0 == demo.returncode, text
    assert "Every article and every job is accounted for." in text
    assert "the wallet is empty" in text
    assert "[요약]" in text


@pytest.mark.process
@pytest.mark.timeout(60)
async def test_ctrl_c_ends_the_demonstration_with_one_sentence() -> None:
    """Z3"""
    demo = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("newsroom"),
        "demo",
        env={**os.environ, "STORE": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert demo.stdout is not None
    try:
        async with asyncio.timeout(45):
            said = await demo.stdout.readline()
            said += await demo.stdout.readline()
            demo.send_signal(signal.SIGINT)
            out, _ = await demo.communicate()
    finally:
        if demo.returncode is None:
            demo.kill()
    text = out.decode()

    assert 130 == demo.returncode, text
    assert "Traceback" not in text
    assert text.endswith("newsroom: interrupted\n")
