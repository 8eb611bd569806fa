"""The smallest program: declare a kind, enqueue a job, run until nothing is left."""

import dure

app = dure.App("hello.db")


@app.kind
async def greet(name: str) -> None:
    print(f"hello {name}")


if __name__ == "__main__":
    app.sync.enqueue(greet("world"), lane="acme")
    app.sync.close()
    app.run(until_idle=True)
