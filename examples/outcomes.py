"""What a handler can say: return what should become true, or raise and let the rules speak."""

import asyncio

import dure

app = dure.App("outcomes.db")


class QuotaSpent(Exception): ...


@app.kind(
    retry=dure.RetryPolicy.of(3, base="30s"),
    timeout="20s",
    errors={QuotaSpent: dure.Suspend("QUOTA"), ValueError: dure.Fail()},
)
async def ask(question: str) -> dure.Outcome | str:
    match question:
        case "":
            return dure.Skip("nothing to ask")
        case "busy":
            return dure.Retry("the model is busy", after=60)
        case "broke":
            raise QuotaSpent("top up")
        case "odd":
            raise ValueError("400: cannot parse")
    return f"an answer to {question!r}"


async def main() -> None:
    async with app.working() as node:
        await app.enqueue_many([ask(q) for q in ("why?", "", "busy", "broke", "odd")])
        while not await node.is_out_of_work():
            await asyncio.sleep(0.01)
        for (kind, event), count in sorted(node.tally.events.items()):
            print(kind, event, count)


asyncio.run(main())
