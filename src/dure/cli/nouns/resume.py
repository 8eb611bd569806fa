"""`dure resume`: let everything run again."""

from typing import TYPE_CHECKING

from dure.cli.grammar import Given, Verb, Verbs
from dure.cli.nouns.pause import tell_resumed

if TYPE_CHECKING:
    from dure.cli.desk import Desk


async def _resume(desk: "Desk", given: Given) -> None:
    tell_resumed(desk, await desk.commands.resume("all", by=desk.by, reason=given.reason))


VERBS: Verbs = {"": Verb("end the pause of everything", _resume, writes=True)}
