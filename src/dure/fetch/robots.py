"""What one robots.txt allows (RFC 9309): read once, believed for a day at most.

No such file (4xx) allows everything. A file that cannot be read (5xx, no connection, 429)
forbids everything until it can; an earlier copy goes on counting as long as there is one.
"""

from typing import Final, Self

from protego import Protego

SIZE_MAX: Final = 500 * 1024
"""Bytes of the file that are read; the standard asks for no more."""
_RETRY_FIRST: Final = 60.0
_RETRY_MAX: Final = 3600.0
_DOUBLINGS_MAX: Final = 10
_AGENT_WORDS: Final = ("user-agent", "useragent", "user agent")
_OTHER: Final = "user-agent: -"
_PATTERNS_MAX: Final = 2000
"""Rules with wildcards that are looked at; a file with more is made to be expensive."""


class RobotsTxt:
    """The rules of one origin for one agent, until a moment (monotonic seconds)."""

    __slots__ = ("_agent", "_rules", "crawl_delay", "failures", "sitemaps", "until", "why")

    def __init__(self, agent: str, until: float, why: str = "") -> None:
        self._agent = agent
        self._rules: Protego | None = None
        self.until = until
        """When it must be read again."""
        self.why = why
        """Why everything is forbidden; empty when the rules decide."""
        self.crawl_delay = 0.0
        self.sitemaps: tuple[str, ...] = ()
        self.failures = 0
        """Readings in a row that failed."""

    @classmethod
    def read(cls, status: int, body: bytes, agent: str, until: float) -> Self:
        """The rules of an answer that says something: success or 4xx."""
        made = cls(agent, until)
        if status >= 300:
            return made
        text = _relevant(body[:SIZE_MAX].decode("utf-8-sig", "replace"), agent.lower())
        if text is None:
            made.why = "robots.txt has more patterns than can be weighed for each address"
            return made
        rules = Protego.parse(text)
        made.sitemaps = tuple(rules.sitemaps)[:1000]
        delay = rules.crawl_delay(agent)
        if delay is not None and 0.0 < delay < float("inf"):
            made.crawl_delay = float(delay)
        if "allow" in text.lower():  # also within "disallow"; without either nothing is forbidden
            made._rules = rules
        return made

    @classmethod
    def unreachable(cls, earlier: Self | None, agent: str, now: float, draw: float) -> Self:
        """After a reading that failed: the earlier copy, or nothing is allowed; try again soon."""
        if earlier is None:
            earlier = cls(agent, now, "robots.txt could not be read")
        step = min(earlier.failures, _DOUBLINGS_MAX)
        earlier.failures += 1
        earlier.until = now + min(_RETRY_FIRST * 2.0**step, _RETRY_MAX) * (1.0 - 0.2 * draw)
        return earlier

    def allows(self, url: str) -> bool:
        """Whether this address may be fetched."""
        if self.why:
            return False
        return self._rules is None or self._rules.can_fetch(url, self._agent)


def _relevant(text: str, agent: str) -> str | None:
    """The text without agents that are not us, so that no file can make parsing expensive.

    None when it has more rules with wildcards than may be looked at for each address.
    """
    kept: list[str] = []
    named: set[str] = set()
    patterns = 0
    for line in text.splitlines():
        start = line.lstrip().lower()
        if not start.startswith(_AGENT_WORDS):
            if start and start[0] != "#":
                kept.append(line)
                named.clear()
                patterns += "*" in line or "$" in line
            continue
        value = start.partition("#")[0].replace(":", " ").removeprefix("user agent")
        name = value.split()[-1] if value.split() else "-"
        bare = name if name == "*" else name.replace("*", "")
        ours = bare == "*" or (bare and bare in agent)
        entry = f"user-agent: {bare}" if ours else _OTHER
        if entry not in named:
            named.add(entry)
            kept.append(entry)
    return None if patterns > _PATTERNS_MAX else "\n".join(kept)
