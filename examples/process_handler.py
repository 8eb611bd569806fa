"""Plain functions: `def` runs in a thread, `run="process"` in a child that a timeout kills."""

import os

import dure

app = dure.App("process.db")


@app.kind(run="process", timeout="1m")
def primes(upto: int) -> int:
    return sum(all(n % d for d in range(2, int(n**0.5) + 1)) for n in range(2, upto))


@app.kind
def where(main: int) -> None:
    print("a thread of the node" if os.getpid() == main else "somewhere else")


if __name__ == "__main__":
    app.sync.enqueue(primes(1000))
    app.sync.enqueue(where(os.getpid()))
    app.sync.close()
    print(app.run(until_idle=True).is_clean)
