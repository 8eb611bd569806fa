"""`dure audit`: who did what, when and why."""

from typing import TYPE_CHECKING

from dure.cli.grammar import Given, Verb, Verbs, page_arguments
from dure.cli.screen import Column
from dure.cli.wording import away

if TYPE_CHECKING:
    from dure.cli.desk import Desk


async def _list(desk: "Desk", given: Given) -> None:
    now = await desk.insights.now()
    found = await desk.insights.audit(given.limit, given.place)
    items = [
        {
            "id": entry.id,
            "at": entry.at,
            "by": entry.actor,
            "command": entry.command,
            "target": entry.target,
            "reason": entry.reason,
            "count": entry.count,
            "before": entry.before,
            "after": entry.after,
        }
        for entry in found
    ]
    desk.screen.listing(
        "audit",
        items,
        (
            Column("ID", lambda entry: str(entry["id"]), True),
            Column("WHEN", lambda entry: away(entry["at"], now)),
            Column("BY", lambda entry: entry["by"]),
            Column("COMMAND", lambda entry: entry["command"]),
            Column("COUNT", lambda entry: f"{entry['count']:,}", True),
            Column("TARGET", lambda entry: entry["target"]),
            Column("REASON", lambda entry: entry["reason"]),
        ),
        empty="Nobody has commanded anything yet.",
    )
    if len(found) == given.limit and desk.screen.form == "table":
        desk.screen.say(f"There may be more: --before {found[-1].id}")


VERBS: Verbs = {"list": Verb("show commands, newest first", _list, page_arguments)}
