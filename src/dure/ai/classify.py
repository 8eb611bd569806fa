"""From a provider's answer to a verdict: a pure function over the table."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.parse import urlsplit

from dure.ai import signs as reading
from dure.ai.signs import Signs
from dure.ai.table.rule import ANTHROPIC, COMPATIBLE, GEMINI, OPENAI, PROVIDERS, Rule
from dure.ai.table.rules import RULES
from dure.ai.verdict import Disposition, Verdict
from dure.core.errors import ConfigError

_HOSTS: Final[Mapping[str, str]] = {
    "api.openai.com": OPENAI,
    "api.anthropic.com": ANTHROPIC,
    "generativelanguage.googleapis.com": GEMINI,
    "aiplatform.googleapis.com": GEMINI,
}


def provider_of(url: str) -> str:
    """Whose words an address speaks: the host decides, not the protocol."""
    host = (urlsplit(url).hostname or "").lower()
    if host.endswith("-aiplatform.googleapis.com"):
        return GEMINI
    return _HOSTS.get(host, COMPATIBLE)


def classify(
    provider: str, status: int, headers: Mapping[str, str], body: bytes | str
) -> Verdict | None:
    """What an answer means; None for a good one. Status 0 is a failure on the way there."""
    if provider not in PROVIDERS:
        raise ConfigError(f"Unknown provider {provider!r}.", f"Known: {', '.join(PROVIDERS)}.")
    signs = reading.read(status, headers, body)
    for rule in _ordered(provider):
        if _matches(rule, signs):
            return _verdict(rule, signs)
    if 200 <= status < 300:
        return None
    if status >= 500:
        return _unnamed(signs, Disposition.RETRY, breaker=True)
    return _unnamed(signs, Disposition.FAIL)


@cache
def _ordered(provider: str) -> tuple[Rule, ...]:
    mine = [rule for rule in RULES if not rule.of or provider in rule.of]
    return tuple(sorted(mine, key=lambda rule: rule.level))


def _matches(rule: Rule, signs: Signs) -> bool:
    return (
        (not rule.status or signs.status in rule.status)
        and _is_whole(rule.code, signs.code)
        and _is_whole(rule.type, signs.type)
        and _is_whole(rule.finish, signs.finish)
        and _is_whole(rule.param, signs.param)
        and _is_whole(rule.retry, signs.should_retry)
        and (not rule.detail or any(_is_whole(rule.detail, each) for each in signs.details))
        and (not rule.words or re.search(rule.words, signs.message, re.IGNORECASE) is not None)
        and rule.hint in {None, signs.after is not None}
    )


def _is_whole(pattern: str, text: str) -> bool:
    return not pattern or re.fullmatch(pattern, text) is not None


def _verdict(rule: Rule, signs: Signs) -> Verdict:
    after = signs.after if rule.after is None else max(rule.after, signs.after or 0.0)
    return Verdict(
        disposition=rule.do,
        why=_sentence(signs, rule.means),
        code=signs.code or signs.type or signs.finish or str(signs.status),
        param=rule.part or signs.param,
        reason=rule.reason,
        scope=rule.scope,
        after=after,
        opens_breaker=rule.breaker,
        slower=rule.slower,
        billed=rule.billed,
        until=rule.until,
    )


def _unnamed(signs: Signs, do: Disposition, *, breaker: bool = False) -> Verdict:
    means = "the provider failed" if breaker else "an answer nobody foresaw"
    return Verdict(
        disposition=do,
        why=_sentence(signs, means),
        code=signs.code or signs.type or str(signs.status),
        param=signs.param,
        after=signs.after,
        opens_breaker=breaker,
        billed=breaker,
    )


def _sentence(signs: Signs, means: str) -> str:
    """Our reading, and the provider's own words."""
    where = f"HTTP {signs.status}" if signs.status else "no answer"
    named = signs.code or signs.type or signs.finish
    said = f": {signs.message}" if signs.message else ""
    return f"{means} ({where}{f' {named}' if named else ''}{said})"
