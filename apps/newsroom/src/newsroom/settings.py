"""What an operator of the newsroom decides, with bounds; read from `NEWSROOM_*` variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Final
from urllib.parse import urlsplit

from dure.core.backoff import RetryPolicy
from dure.core.duration import seconds_of
from dure.core.errors import ConfigError
from dure.engine.environment import from_environment
from dure.fetch import Robots
from dure.web import Access

PREFIX: Final = "NEWSROOM_"
_SPANS: Final = {
    "recheck": (1.0, 86_400.0),
    "edits_for": (0.0, 30 * 86_400.0),
    "ai_timeout": (0.1, 600.0),
    "retry_base": (0.01, 3600.0),
    "stuck_after": (3.0, 3600.0),
    "stuck_delay": (0.0, 3600.0),
    "sweep": (0.1, 600.0),
    "alert_every": (1.0, 86_400.0),
}
_COUNTS: Final = {
    "pages_max": (1, 100),
    "min_content_length_for_ai": (0, 1_000_000),
    "attempts_max": (1, 100),
    "batch_min": (1, 1000),
    "batch_max": (1, 1000),
    "slots": (1, 10_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every field is a variable: `pages_max` is `NEWSROOM_PAGES_MAX`."""

    store: str = "newsroom.db"
    """A file for SQLite, or postgresql://."""
    slots: int = 64

    site: str = "https://news.naver.com"
    crawl: str = "*/5 * * * *"
    """When, as a cron line in Korean time."""
    pages_max: int = 3
    """Pages of a section's list that one crawl follows while they bring something new."""
    news_rate: str = "2/s"
    """Requests to the news site, over all nodes."""
    user_agent: str = "Mozilla/5.0 (compatible; dure-newsroom/0.1)"
    robots: Robots = Robots.OBEY
    """News sites let few programs in. To `ignore` that is a decision you have to answer for."""
    allow: tuple[str, ...] = ()
    """Private networks that may be reached, as 127.0.0.0/8."""
    recheck: str = "30m"
    """Articles are asked for again after this, to notice edits."""
    edits_for: str = "1d"
    """Articles older than this are not asked for again."""

    min_content_length_for_ai: int = 200
    """Characters of a body that are worth a summary."""
    urgent_words: tuple[str, ...] = ("속보", "긴급", "[단독]", "BREAKING")
    """Titles with one of them go first."""
    ai_url: str = ""
    """An OpenAI-compatible address as https://api.openai.com/v1; empty: the local provider."""
    ai_model: str = "gpt-5-mini"
    ai_key: str = field(default="", repr=False)
    ai_limits: tuple[str, ...] = ("500/m",)
    """Windows of the provider's limits: `15/m,1500/d,1000000 tokens/m`."""
    ai_timeout: str = "20s"
    batch_min: int = 2
    batch_max: int = 20
    """How many jobs of one kind a node has under way, between these, following load."""
    attempts_max: int = 5
    retry_base: str = "30s"
    """The first wait after a failure; it doubles each time."""

    stuck_after: str = "10m"
    """A job that is RUNNING without a sign of life for so long is taken back."""
    stuck_delay: str = "1m"
    sweep: str = "1m"

    host: str = "127.0.0.1"
    port: int = 8010
    tokens: str = field(default="", repr=False)
    """Who may use the admin API: `NAME:ROLE:TOKEN`, separated by spaces."""
    alert_url: str = field(default="", repr=False)
    """Where alerts about dead letters are posted, as JSON."""
    alert_every: str = "5m"
    """At most one alert for each kind in this time."""

    def __post_init__(self) -> None:
        for name, (low, high) in _SPANS.items():
            text = getattr(self, name)
            try:
                seconds = seconds_of(text)
            except ValueError as error:
                raise _wrong(name, text, f"{error}") from error
            if not low <= seconds <= high:
                raise _wrong(name, text, f"it must lie between {low:g}s and {high:g}s")
        for name, (least, most) in _COUNTS.items():
            number = getattr(self, name)
            if not least <= number <= most:
                raise _wrong(name, number, f"it must lie between {least} and {most}")
        if self.batch_min > self.batch_max:
            raise _wrong("batch_min", self.batch_min, f"batch_max is {self.batch_max}")
        if not 0 <= self.port < 65_536:
            raise _wrong("port", self.port, "ports end at 65535")
        for name in ("site", "ai_url", "alert_url"):
            text = getattr(self, name)
            address = urlsplit(text)
            if (text or name == "site") and not (
                address.scheme in {"http", "https"} and address.netloc
            ):
                raise ConfigError(
                    f"{PREFIX}{name.upper()} is no address.", "Write it as https://host."
                )
        object.__setattr__(self, "site", self.site.rstrip("/"))
        for network in self.allow:
            try:
                ip_network(network)
            except ValueError as error:
                raise _wrong("allow", network, f"{error}") from error
        if not self.user_agent.strip() or not self.user_agent.isprintable():
            raise _wrong("user_agent", self.user_agent, "it must be one line of text")
        Access.parse(self.tokens)
        if self.ai_url and not self.ai_key:
            raise ConfigError(
                "An AI endpoint is given without a key.",
                f"Set {PREFIX}AI_KEY, or no {PREFIX}AI_URL.",
            )

    @classmethod
    def load(cls, environment: Mapping[str, str]) -> "Settings":
        """From environment variables. Raises ConfigError naming the variable."""
        return from_environment(cls, PREFIX, environment)

    def seconds(self, name: str) -> float:
        """A span in seconds."""
        return seconds_of(getattr(self, name))

    @property
    def retry(self) -> RetryPolicy:
        """30 s x 2^n, and one minute after a worker died (A7, A8)."""
        return RetryPolicy.of(self.attempts_max, base=self.retry_base, lost=self.stuck_delay)


def _wrong(name: str, value: object, why: str) -> ConfigError:
    return ConfigError(f"{PREFIX}{name.upper()} cannot be {value!r}: {why}.")
