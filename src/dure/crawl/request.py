"""What a stage asks to be fetched next: values, nothing happens until their page is committed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dure.core.state import Priority

if TYPE_CHECKING:
    from dure.crawl.spider import Stage

NO_META: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Request:
    """One address for one stage."""

    url: str
    stage: "Stage"
    meta: Mapping[str, Any] = field(default_factory=dict)
    """Plain JSON values that its stage finds in `page.meta`."""
    priority: Priority | None = None
    """None: the stage's own."""
    again: bool = False
    """Fetch it although it is known already, as a poll of the same list does."""
    delay: float = 0.0
    """Seconds before which it is not fetched."""


@dataclass(frozen=True, slots=True)
class Follow:
    """Many links of one page for one stage: cheaper than a `Request` for each."""

    urls: Sequence[str]
    """As they stand in the page; they are joined with its address."""
    stage: "Stage"
    meta: Mapping[str, Any] = field(default_factory=dict)
    priority: Priority | None = None
