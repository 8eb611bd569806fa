"""What an ask costs on top of its provider: limits, breaker, validation, accounts, cache.

    python bench/ask.py [store-url]

Jobs with an ask and the same jobs without one, one after another, on one store.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

import dure
from dure import ai
from dure.ai import Answer, Question, Usage

ASKS = 300


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
        usage = Usage(input=100, output=20)
        return Answer(text='{"summary": "x", "points": ["y"]}', usage=usage, model="instant")

    async def close(self) -> None:
        """Nothing is open."""


async def measure(url: str) -> list[float]:
    app = dure.App(url)
    limits = ("1000000/m", "100000000 tokens/m")
    desk = ai.Desk(app, provider=Instant(), limits=limits)
    prompt = ai.Prompt("SUMMARY", version=1, answer=Summary)
    times: list[float] = []

    @app.kind(**desk.terms())
    async def ask(number: int) -> dure.Outcome:
        began = time.perf_counter()
        reply: ai.Reply[Any] = await desk.ask(prompt, f"text {number}")
        times.append(time.perf_counter() - began)
        return dure.Done(writes=reply.writes, used=reply.used)

    async with app:
        await app.enqueue_many([ask(number) for number in range(ASKS)])
        await app.drain(slots=1)
    return times


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else str(Path(folder) / "ask.db")
        times = sorted(asyncio.run(measure(url)))
    middle, late = statistics.median(times), times[len(times) * 99 // 100]
    print(f"an ask: median {middle * 1000:.2f} ms, p99 {late * 1000:.2f} ms, of {len(times)}")


if __name__ == "__main__":
    main()
