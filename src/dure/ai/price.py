"""What tokens cost, in billionths of a currency unit, so that sums are exact."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from typing import Final

from dure.core.errors import ConfigError

NANO: Final = 1_000_000_000
"""Of these make one unit of the currency (a dollar, a won)."""
_AMOUNT_MAX: Final = 1_000_000_000

Amount = str | int | float | Decimal
"""Money as people write it: `"0.15"`."""


def nano(amount: Amount, what: str = "an amount") -> int:
    """Money in billionths, rounded up. Raises ConfigError."""
    try:
        value = Decimal(str(amount))
    except InvalidOperation:
        raise ConfigError(f"{amount!r} is not {what}.", 'Write a number, like "0.15".') from None
    if not value.is_finite() or not 0 <= value <= _AMOUNT_MAX:
        raise ConfigError(f"{what} must be 0 to {_AMOUNT_MAX}, not {amount}.")
    return int((value * NANO).to_integral_value(ROUND_CEILING))


@dataclass(frozen=True, slots=True)
class Price:
    """Of a million tokens: `Price("0.15", "0.60")`. `cached` is for input the provider knew."""

    input: Amount
    output: Amount
    cached: Amount | None = None

    def __post_init__(self) -> None:
        self.cost(0, 0)

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """What so many tokens cost, in billionths, rounded up. `cached` ones are among input."""
        cached = self.input if self.cached is None else self.cached
        total = (
            nano(self.input, "a price") * (input_tokens - cached_tokens)
            + nano(cached, "a price") * cached_tokens
            + nano(self.output, "a price") * output_tokens
        )
        return -(-total // 1_000_000)


FREE: Final = Price(0, 0)

Prices = Mapping[str, Price]
"""By model."""
