"""The five AI kinds: SUMMARY of each long enough version, and four that follow its success."""

from collections.abc import Sequence
from typing import Any, Final

import dure
from dure.ai import Desk, Throttled
from newsroom.prompts import STEPS, Step
from newsroom.records import CURRENT, Records
from newsroom.settings import Settings

ATTEMPT_SECONDS: Final = 60.0
"""An attempt's own bound, above the time-out of the call in it."""


class Analysis:
    """Declares the kinds and builds their jobs."""

    def __init__(self, app: dure.App, desk: Desk, records: Records, settings: Settings) -> None:
        self._desk = desk
        self._records = records
        self._kinds = [
            app.kind(
                name=step.kind,
                rank=rank,
                slots=(settings.batch_min, settings.batch_max),
                **desk.terms(
                    prompt=step.prompt,
                    timeout=settings.seconds("ai_timeout") + ATTEMPT_SECONDS,
                    retry=settings.retry,
                    errors={Throttled: _throttled},
                ),
            )(self._handler(step))
            for rank, step in enumerate(STEPS, 1)
        ]

    def jobs(
        self, article: str, version: int, *, lane: str, priority: dure.Priority, which: slice
    ) -> list[dure.Job]:
        """Jobs about one version of an article; none is made twice while it waits."""
        return [
            kind(article, version).options(
                lane=lane, priority=priority, unique=f"{article}-v{version}"
            )
            for kind in self._kinds[which]
        ]

    def first(
        self, article: str, version: int, *, lane: str, priority: dure.Priority
    ) -> Sequence[dure.Job]:
        """What an article begins with (A2)."""
        return self.jobs(article, version, lane=lane, priority=priority, which=slice(1))

    def _handler(self, step: Step) -> Any:
        async def handler(article: str, version: int) -> dure.Outcome:
            text = await self._records.text(article, version)
            if text is None:
                return dure.Fail(f"There is no version {version} of article {article}.")
            if text.newest != version or text.kept != "ok":
                return dure.Stale("the article was edited or taken back")
            reply = await self._desk.ask(step.prompt, text.body)
            result = self._records.keep_result(
                article,
                version,
                step.kind,
                answer=step.encode(reply.value),
                model=reply.model,
                prompt=reply.prompt,
            )
            return dure.Done(
                writes=[result, *reply.writes],
                then=self._followers(step, article, version),
                guard=dure.Guard(CURRENT, {"id": article}, version),
                used=reply.used,
            )

        handler.__doc__ = f"{step.kind} of one version of an article."
        handler.__qualname__ = step.kind
        return handler

    def _followers(self, step: Step, article: str, version: int) -> Sequence[dure.Job]:
        """What SUMMARY makes possible (A3), as urgent as it was itself."""
        if step is not STEPS[0]:
            return ()
        attempt = dure.current()
        return self.jobs(
            article, version, lane=attempt.lane, priority=attempt.priority, which=slice(1, None)
        )


def _throttled(error: Throttled) -> dure.Outcome:
    """Here a 429 uses an attempt and waits 30 s x 2^n, or longer if the provider says so (A7)."""
    return dure.Retry(str(error), after=error.seconds)
