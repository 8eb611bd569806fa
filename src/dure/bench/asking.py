"""What an ask costs on top of its provider: limits, breaker, validation, accounts, cache.

Jobs that ask a provider which takes no time, and the same jobs without an ask, on one store.
"""

import time
from typing import Any

import msgspec

from dure import ai
from dure.bench.figures import Reading
from dure.bench.ground import Ground
from dure.bench.options import Options
from dure.compose import App
from dure.core.outcome import Done, Outcome

_SLOTS = 16
_LIMITS = ("10000000/m", "1000000000 tokens/m")


class Summary(msgspec.Struct):
    """What is answered."""

    summary: str
    points: list[str]


class Instant:
    """A provider that takes no time."""

    account, model = "bench", "instant"

    def tokens(self, usage: ai.Usage) -> int:
        return usage.total

    async def ask(self, question: ai.Question) -> ai.Answer:
        usage = ai.Usage(input=len(question.text), output=20)
        return ai.Answer(text='{"summary": "x", "points": ["y"]}', usage=usage, model="instant")

    async def close(self) -> None:
        """Nothing is open."""


async def asking(ground: Ground, given: Options) -> list[Reading]:
    """Milliseconds an ask adds to its job, one after another and many at a time."""
    alone = await _added(await ground.fresh(), given.jobs, 1)
    together = await _added(await ground.fresh(), given.jobs, _SLOTS)
    return [
        Reading("ask", alone * 1000, "ms"),
        Reading("ask.together", together * 1000, "ms", f"{_SLOTS} at a time"),
    ]


async def _added(url: str, jobs: int, slots: int) -> float:
    app = App(url)
    desk = ai.Desk(app, provider=Instant(), limits=_LIMITS)
    prompt = ai.Prompt("SUMMARY", version=1, answer=Summary)

    @app.kind(**desk.terms())
    async def ask(number: int) -> Outcome:
        reply: ai.Reply[Any] = await desk.ask(prompt, f"text {number}")
        return Done(writes=reply.writes, used=reply.used)

    @app.kind
    async def plain(number: int) -> Outcome:
        return Done(number)

    took = []
    async with app:
        for kind in (ask, plain):
            await app.enqueue_many([kind(number) for number in range(jobs)])
            began = time.perf_counter()
            await app.drain(slots=slots)
            took.append((time.perf_counter() - began) / jobs)
    return took[0] - took[1]
