"""`dure migrate`: create the schema, or bring it up to date."""

from dure.cli.catalog import DONE
from dure.cli.grammar import Given, Parser, PlainVerb, Verbs
from dure.cli.screen import Screen


def _arguments(parser: Parser) -> None:
    parser.add_argument("--check", action="store_true", help="change nothing; exit 7 if it is old")


def _migrate(screen: Screen, given: Given) -> int:
    import asyncio

    from dure.cli.desk import place_of

    store, _ = place_of(given, must_exist=given.check)

    async def bring_up_to_date() -> None:
        await store.open(migrate=not given.check)
        await store.close()

    asyncio.run(bring_up_to_date())
    item = {"name": store.url, "is_up_to_date": True}
    screen.done(item, f"The schema at {store.url} is up to date.")
    return DONE


VERBS: Verbs = {"": PlainVerb("bring the schema up to date", _migrate, _arguments)}
