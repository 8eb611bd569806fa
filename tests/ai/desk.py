"""An app with one desk on a fake wire: the ground of these tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from tests.ai.wire import FakeWire, Script

import dure
from dure import ai
from dure.core.backoff import Backoff, RetryPolicy
from dure.testing import Rig


class Summary(msgspec.Struct):
    """What a summary must look like."""

    summary: str
    points: list[str]


GOOD = '{"summary": "ok", "points": ["a"]}'
RETRY = RetryPolicy(max_attempts=4, phases=(Backoff(base=30.0, factor=2.0, cap=600.0),))


@dataclass
class Bench:
    """The app, its desk, its wire, and what handlers received."""

    app: dure.App
    desk: ai.Desk
    wire: FakeWire
    kind: Any
    replies: list[Any] = field(default_factory=list)


def bench(
    script: Script,
    *,
    store: Any = ":memory:",
    prompt: Mapping[str, Any] | None = None,
    terms: Mapping[str, Any] | None = None,
    latency: float = 0.5,
    url: str = "https://api.openai.com/v1",
    **desk: Any,
) -> Bench:
    app = dure.App(store)
    wire = FakeWire(script, latency)
    provider = ai.OpenAICompatible(url, key="sk-secret", model="m", account="acme", http=wire)
    made = ai.Desk(app, provider=provider, **desk)
    asked = ai.Prompt(
        "SUMMARY", **{"version": 3, "answer": Summary, "system": "Sum up.", **(prompt or {})}
    )

    @app.kind(**made.terms(**{"retry": RETRY, "timeout": "25s", **(terms or {})}))
    async def summarise(text: str) -> dure.Outcome:
        reply = await made.ask(asked, text)
        done.replies.append(reply)
        return dure.Done(reply.value, writes=reply.writes, used=reply.used)

    done = Bench(app, made, wire, summarise)
    return done


async def start_at(t: Rig, seconds: float) -> None:
    """Begin to work so long after the beginning of virtual time."""
    t.clock.jump(seconds)
    await t.app.store_clock.sync()
    await t.start_node()
