"""Limits as a provider enforces them: requests and tokens, over a minute and a day, per key.

The only memory that a site of the sandbox has: what a key used in the last minute and day.
"""

import math
from collections import deque
from dataclasses import dataclass
from typing import Final

from dure.core.errors import ConfigError

MINUTE, DAY = 60.0, 86_400.0
KEYS_MAX: Final = 1000
UNLIMITED: Final = 30_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """None: not enforced."""

    rpm: int | None = None
    rpd: int | None = None
    tpm: int | None = None

    def __post_init__(self) -> None:
        for name in ("rpm", "rpd", "tpm"):
            value = getattr(self, name)
            if value is not None and not 1 <= value <= UNLIMITED:
                raise ConfigError(
                    f"The AI provider cannot have {name} = {value}.",
                    f"Give a number from 1 to {UNLIMITED}, or leave it out.",
                )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a request may be served, and what the headers say about it."""

    exceeded: str | None
    """`RPM`, `RPD` or `TPM` when it may not."""
    wait_seconds: float
    headers: tuple[tuple[str, str], ...]


class Window:
    """What was used within the last so many seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._uses: deque[tuple[float, int]] = deque()
        self.used = 0

    def forget(self, now: float) -> None:
        while self._uses and self._uses[0][0] <= now - self._seconds:
            self.used -= self._uses.popleft()[1]

    def use(self, amount: int, now: float) -> None:
        """Uses of one moment are one entry, so that a flood does not fill the memory."""
        self.used += amount
        moment = math.floor(now * 100) / 100
        if self._uses and self._uses[-1][0] == moment:
            amount += self._uses.pop()[1]
        self._uses.append((moment, amount))

    def free_in(self, amount: int, limit: int, now: float) -> float:
        """Seconds until that much fits; the whole window when it never does."""
        excess = self.used + amount - limit
        for moment, used in self._uses:
            if excess <= 0:
                break
            excess -= used
            if excess <= 0:
                return max(0.001, moment + self._seconds - now)
        return self._seconds if excess > 0 else 0.0


class Quota:
    """The windows of every key."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._keys: dict[str, tuple[Window, Window, Window]] = {}

    def take(self, key: str, tokens: int, now: float) -> Verdict:
        """Take a request and its tokens, or nothing."""
        if key not in self._keys and len(self._keys) >= KEYS_MAX:
            del self._keys[next(iter(self._keys))]
        windows = self._keys.setdefault(key, (Window(MINUTE), Window(DAY), Window(MINUTE)))
        wanted = (
            ("RPM", windows[0], self._limits.rpm, 1),
            ("RPD", windows[1], self._limits.rpd, 1),
            ("TPM", windows[2], self._limits.tpm, tokens),
        )
        for window in windows:
            window.forget(now)
        exceeded, wait = None, 0.0
        for name, window, limit, amount in wanted:
            if limit is not None and window.used + amount > limit:
                exceeded, wait = name, max(wait, window.free_in(amount, limit, now))
        if exceeded is None:
            for _, window, _, amount in wanted:
                window.use(amount, now)
        return Verdict(exceeded, wait, self._headers(windows, now))

    def _headers(
        self, windows: tuple[Window, Window, Window], now: float
    ) -> tuple[tuple[str, str], ...]:
        headers: list[tuple[str, str]] = []
        for name, window, limit in (
            ("requests", windows[0], self._limits.rpm),
            ("tokens", windows[2], self._limits.tpm),
        ):
            most = limit or UNLIMITED
            headers += [
                (f"x-ratelimit-limit-{name}", str(most)),
                (f"x-ratelimit-remaining-{name}", str(max(0, most - window.used))),
                (f"x-ratelimit-reset-{name}", span_text(window.free_in(0, 0, now))),
            ]
        return tuple(headers)


def span_text(seconds: float) -> str:
    """As OpenAI writes it: `120ms`, `1s`, `6m0s`."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:.3g}s" if minutes else f"{rest:.4g}s"
