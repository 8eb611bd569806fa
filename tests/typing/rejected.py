"""What a type checker must reject, line by line: an ignore that is not needed is an error."""

import dure

app = dure.App(":memory:")


@app.kind
async def fetch(url: str, *, depth: int = 0) -> dure.Outcome:
    return dure.Done()


@app.kind(timeout="1m")
def parse(text: str) -> None: ...


@app.chunk(100)
async def index(items: list[int]) -> None: ...


fetch()  # type: ignore[call-arg]
fetch(1)  # type: ignore[arg-type]
fetch("a", 1)  # type: ignore[call-arg]
fetch("a", depth="deep")  # type: ignore[arg-type]
fetch("a", dept=1)  # type: ignore[call-arg]
parse(b"text")  # type: ignore[arg-type]
index("one")  # type: ignore[arg-type]
index([1, 2])  # type: ignore[arg-type]
fetch("a").options(lane=1)  # type: ignore[arg-type]
fetch("a").options(priority="HIGH")  # type: ignore[arg-type]
fetch("a").options(colour="red")  # type: ignore[call-arg]
dure.Done(then=["job"])  # type: ignore[list-item]
dure.Done(1, [])  # type: ignore[call-arg]
dure.Retry(after="soon")  # type: ignore[arg-type]
dure.Write("select 1").sql = "drop"  # type: ignore[misc]
app.kind(retries=3)  # type: ignore[call-overload]
app.kind(retry="3")  # type: ignore[call-overload]
app.limit("api", 5)  # type: ignore[arg-type]
app.schedule("daily", "0 5 * * *", fetch)  # type: ignore[arg-type]


async def use() -> None:
    await app.enqueue("fetch")  # type: ignore[arg-type]
    await app.enqueue(fetch)  # type: ignore[arg-type]
    await fetch("a")  # type: ignore[misc]
    await app.enqueue_many(fetch("a"))  # type: ignore[arg-type]


@app.report("DAILY")  # type: ignore[arg-type]
async def tell(report: str) -> None: ...
