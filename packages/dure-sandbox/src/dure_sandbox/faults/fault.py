"""One fault: its kind, whom it strikes and for how long. What makes no sense is refused."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from dure.core.errors import ConfigError
from dure_sandbox.ai.refusals import TABLES, Dialect

SITES: Final = ("news", "shop", "ai")

KINDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "throttle": "429; with Retry-After when `retry_after` is given",
        "status": "the status in `status`, as the site words it",
        "blocked_agent": "403 for clients whose User-Agent matches `agent`",
        "redirect_loop": "302 to itself, without end",
        "reset": 'the connection is reset; after half of the body with `at = "body"`',
        "stall": 'no byte for `seconds`, then a reset; after half of the body with `at = "body"`',
        "slow_start": "the right answer, but `seconds` late",
        "slow_body": "the right body at `rate` bytes a second",
        "cut_body": "less than Content-Length promised",
        "cut_gzip": "a gzip body that ends in the middle",
        "wrong_charset": "the header names another charset than the body has",
        "gzip_bomb": "a small gzip body that unpacks to `size` bytes",
        "endless_body": "a body of `size` bytes, in chunks, that no page has",
        "header_flood": "`size` bytes of headers",
        "cut_json": "JSON that ends in the middle; of a completion, its content",
        "refusal": "the model refuses",
        "content_filter": "the answer is withheld by a filter",
        "out_of_tokens": "the answer ends in the middle, and says so (finish_reason length)",
        "wrong_schema": "JSON that the schema does not allow",
    }
)
"""General kinds. Besides these, every name of a provider's error is a kind (of the AI site)."""

AI_ONLY: Final = frozenset({"refusal", "content_filter", "out_of_tokens", "wrong_schema"})
ERRORS: Final = frozenset(name for table in TABLES.values() for name in table)
SECONDS_MAX: Final = 30 * 86_400.0
SIZES: Final[Mapping[str, int]] = MappingProxyType(
    {"gzip_bomb": 1 << 30, "endless_body": 1 << 33, "header_flood": 1 << 20}
)
"""How many bytes, unless said otherwise."""
SIZE_MAX: Final = 1 << 40
LAST: Final = 3600.0


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Strikes requests that match all of `site`, `host`, `path`, `method` and `agent`."""

    kind: str
    site: Literal["news", "shop", "ai"] | None = None
    host: str = "*"
    """A pattern with `*`, without the port."""
    path: str = "*"
    """A pattern with `*`, without the query."""
    method: str = "*"
    agent: str = "*"
    """A pattern with `*` for the User-Agent, in any case."""
    share: float = 1.0
    """Of the requests that match, drawn by the seed; the same request again is drawn anew."""
    skip: int = 0
    """How many requests pass before the first is struck."""
    count: int | None = None
    """How many requests are struck, then no more."""
    starts_in: float = 0.0
    """Seconds from when the fault is added."""
    lasts: float | None = None
    """Seconds from its start."""
    status: int = 503
    retry_after: float | None = None
    """Seconds."""
    seconds: float = LAST
    rate: int = 256
    """Bytes a second."""
    size: int | None = None
    """Bytes."""
    at: Literal["head", "body"] = "head"
    dialect: Dialect = "openai"

    def __post_init__(self) -> None:
        for wrong in self._wrong():
            raise ValueError(wrong)

    def _wrong(self) -> list[str]:
        """What makes no sense, first things first."""
        wrong: list[str] = []
        if self.kind not in KINDS and self.kind not in ERRORS:
            names = ", ".join([*KINDS, *sorted(ERRORS)])
            return [f"there is no kind {self.kind!r}; there are {names}"]
        if self.kind in AI_ONLY | ERRORS and self.site not in {None, "ai"}:
            wrong.append(f"{self.kind} happens on the ai site only, not on {self.site}")
        if self.kind in ERRORS and self.kind not in TABLES[self.dialect]:
            known = ", ".join(sorted(TABLES[self.dialect]))
            wrong.append(f"{self.dialect} has no error {self.kind}; it has {known}")
        for name, least, most in (
            ("share", 0.0, 1.0),
            ("skip", 0, 1_000_000_000),
            ("count", 1, 1_000_000_000),
            ("starts_in", 0.0, SECONDS_MAX),
            ("lasts", 0.001, SECONDS_MAX),
            ("status", 400, 599),
            ("retry_after", 0.0, SECONDS_MAX),
            ("seconds", 0.001, SECONDS_MAX),
            ("rate", 1, 1_000_000_000),
            ("size", 1, SIZE_MAX),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                wrong.append(f"{name} must be from {least:g} to {most:g}, not {value}")
        if self.kind == "blocked_agent" and self.agent == "*":
            wrong.append("blocked_agent needs `agent`, a pattern like 'python*'")
        return wrong

    @property
    def bytes_count(self) -> int:
        return self.size if self.size is not None else SIZES.get(self.kind, 1 << 20)


def fault_of(given: object) -> Fault:
    """A fault from untrusted data. Raises ConfigError that says what is wrong."""
    try:
        return msgspec.convert(given, Fault)
    except (msgspec.ValidationError, ValueError) as error:
        raise ConfigError(
            f"This is no fault: {error}.", "See docs/reference/sandbox.md for the fields."
        ) from error


def faults_from(path: Path) -> list[Fault]:
    """The faults of a TOML file, each in a table `[[fault]]`. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.", "Check --faults.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}.", "Correct it first.") from error
    strange = sorted(set(content) - {"fault"})
    tables = content.get("fault", [])
    if strange or not isinstance(tables, list):
        what = f"has {strange[0]!r}" if strange else "has one [fault]"
        raise ConfigError(f"{path} {what}.", "Write each fault under [[fault]] and nothing else.")
    return [fault_of(each) for each in tables]
