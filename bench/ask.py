"""What an ask costs on top of its provider: limits, breaker, validation, accounts, cache.

    python bench/ask.py [store-url]

Jobs with an ask and the same jobs without one, one after another, on one store.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

import dure
from dure import ai
from dure.ai import Answer, Question, Usage

ASKS = 1000


class Summary(msgspec.Struct):
    """What is answered."""

    summary: str
    points: list[str]


class Instant:
    """A provider that takes no time."""

    account, model = "bench", "instant"

    def tokens(self, usage: Usage) -> int:
        return usage.total

    async def ask(self, question: Question) -> Answer:
        usage = Usage(input=len(question.text), output=20)
        return Answer(text='{"summary": "x", "points": ["y"]}', usage=usage, model="instant")

    async def close(self) -> None:
        """Nothing is open."""


async def measure(url: str, slots: int) -> tuple[float, float]:
    """Seconds each ask job and each plain job takes, `slots` at a time."""
    app = dure.App(url)
    limits = ("10000000/m", "1000000000 tokens/m")
    desk = ai.Desk(app, provider=Instant(), limits=limits)
    prompt = ai.Prompt("SUMMARY", version=1, answer=Summary)

    @app.kind(**desk.terms())
    async def ask(number: int) -> dure.Outcome:
        reply: ai.Reply[Any] = await desk.ask(prompt, f"text {number}")
        return dure.Done(writes=reply.writes, used=reply.used)

    @app.kind
    async def plain(number: int) -> dure.Outcome:
        return dure.Done(number)

    times = []
    async with app:
        for kind in (ask, plain):
            await app.enqueue_many([kind(number) for number in range(ASKS)])
            began = time.perf_counter()
            await app.drain(slots=slots)
            times.append((time.perf_counter() - began) / ASKS)
    return times[0], times[1]


def main() -> None:
    for slots in (1, 16):
        with tempfile.TemporaryDirectory() as folder:
            url = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "ask.db")
            asked, plain = asyncio.run(measure(url, slots))
        over = (asked - plain) * 1000
        print(f"{slots} at a time: {over:.2f} ms for each ask on top of a plain job")


if __name__ == "__main__":
    main()
