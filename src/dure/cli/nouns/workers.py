"""`dure workers`: who works, since when, and who is gone."""

from typing import TYPE_CHECKING

from dure.cli.grammar import Given, Verb, Verbs
from dure.cli.screen import Column
from dure.cli.wording import away, length

if TYPE_CHECKING:
    from dure.cli.desk import Desk


async def _list(desk: "Desk", _given: Given) -> None:
    now = await desk.insights.now()
    items = [
        {
            "id": worker.id,
            "name": worker.name,
            "host": worker.host,
            "pid": worker.pid,
            "version": worker.version,
            "kinds": list(worker.kinds),
            "slots": worker.slots,
            "state": worker.state if worker.is_alive else "gone",
            "started_at": worker.started_at,
            "beat_at": worker.beat_at,
            "lease_until": worker.lease_until,
        }
        for worker in await desk.insights.workers()
    ]
    desk.screen.listing(
        "workers",
        items,
        (
            Column("ID", lambda worker: str(worker["id"]), True),
            Column("NAME", lambda worker: worker["name"]),
            Column("STATE", lambda worker: worker["state"]),
            Column("PID", lambda worker: str(worker["pid"]), True),
            Column("SLOTS", lambda worker: str(worker["slots"]), True),
            Column("UP", lambda worker: length(now - worker["started_at"]), True),
            Column("BEAT", lambda worker: away(worker["beat_at"], now)),
            Column("VERSION", lambda worker: worker["version"]),
            Column("KINDS", lambda worker: ", ".join(worker["kinds"])),
        ),
        empty="No worker is registered. Start one with `dure run MODULE`.",
    )


VERBS: Verbs = {"list": Verb("show workers, oldest first", _list)}
