"""What an operator does to a run: pause, resume, cancel, change a setting."""

from typing import Final

from catalog.spider import NAME
from dure import App
from dure.core.state import FINAL
from dure.crawl.figures import run_of
from dure.crawl.tuning import Tuning, set_tuning
from dure.engine.desk.commands import session_filter
from dure.scripts import crawls

_ROUNDS_MAX: Final = 100


async def pause(app: App, *, by: str, session: str = NAME) -> str:
    """Let what runs end and start nothing more; the session. Raises NotFound."""
    run = await run_of(app.store, session)
    await app.commands.pause("session", run.session, by=by)
    return run.session


async def resume(app: App, *, by: str, session: str = NAME) -> str:
    """Go on; the session. Raises NotFound when it is not paused."""
    run = await run_of(app.store, session)
    await app.commands.resume("session", run.session, by=by)
    return run.session


async def cancel(app: App, *, by: str, session: str = NAME) -> tuple[str, int]:
    """End everything that is unfinished; the session, and how many jobs that were."""
    run = await run_of(app.store, session)
    count = 0
    for _ in range(_ROUNDS_MAX):
        # What was committed meanwhile may have brought more.
        done = await app.commands.cancel(session_filter(run.session), by=by)
        count += done.applied
        standings = await app.store.read(crawls.standings(run.session))
        if all(each.state in FINAL for each in standings):
            break
    return run.session, count


async def change(app: App, key: str, text: str, *, by: str) -> Tuning:
    """Change a setting on every node. Raises SettingInvalid saying what would be accepted."""
    return await set_tuning(app.store, NAME, key, text, by=by)
