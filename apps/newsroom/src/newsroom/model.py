"""The model behind the newsroom: which provider, and what is noted of each call to it."""

import asyncio
from typing import Final

from dure.ai import Answer, OpenAICompatible, Provider, Question, Usage
from dure.fetch import Fetcher
from newsroom.diary import api_failed, is_timeout
from newsroom.metrics import NewsMetrics
from newsroom.settings import Settings

SUCCESS: Final = "success"


class Observed:
    """A provider whose calls are counted, timed and, when they fail, written down."""

    def __init__(self, provider: Provider, metrics: NewsMetrics) -> None:
        self._provider = provider
        self._metrics = metrics

    @property
    def account(self) -> str:
        return self._provider.account

    @property
    def model(self) -> str:
        return self._provider.model

    def tokens(self, usage: Usage) -> int:
        return self._provider.tokens(usage)

    async def close(self) -> None:
        await self._provider.close()

    async def ask(self, question: Question) -> Answer:
        """The provider's answer, as it is."""
        clock = asyncio.get_running_loop().time
        began = clock()
        status = "cancelled"
        try:
            answer = await self._provider.ask(question)
            status = _status(answer)
        finally:
            seconds = clock() - began
            labels = (self.model, question.name, status)
            self._metrics.requests.labels(*labels).inc()
            self._metrics.latency.labels(*labels).observe(seconds)
        if answer.verdict is not None:
            api_failed(
                model=self.model, schema=question.name, verdict=answer.verdict, seconds=seconds
            )
        return answer


def _status(answer: Answer) -> str:
    """A label with few values: the disposition, and time-outs apart."""
    if answer.verdict is None:
        return SUCCESS
    return "timeout" if is_timeout(answer.verdict) else str(answer.verdict.disposition)


def provider_of(settings: Settings, http: Fetcher | None = None) -> Provider:
    """The endpoint of the settings; without one the model on this machine, which needs no key."""
    if not settings.ai_url:
        from dure.ai.local.provider import Local  # noqa: PLC0415  # only where it is asked for

        return Local()
    return OpenAICompatible(
        settings.ai_url,
        model=settings.ai_model,
        key=settings.ai_key,
        timeout=settings.ai_timeout,
        allow=settings.allow,
        http=http,
    )
