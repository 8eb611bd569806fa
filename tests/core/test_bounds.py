"""What a job carries has a bound, and what is over it is refused where it is made."""

import pytest

from dure.core.bounds import (
    BODY_BYTES_MAX,
    ERROR_LENGTH_MAX,
    RESULT_BYTES_MAX,
    TEXT_BYTES_MAX,
    check_result,
    shortened,
)
from dure.core.errors import TooLarge
from dure.core.job import Job, Unique


@pytest.mark.parametrize("letter", ["x", "뉴", "😀"])
def test_arguments_are_bounded_in_bytes_and_not_in_characters(letter: str) -> None:
    """X14"""
    fitting = letter * (BODY_BYTES_MAX // len(letter.encode()))

    assert fitting == Job("fetch", fitting).body
    with pytest.raises(TooLarge, match=r"arguments of fetch are \d+ bytes; .* at most 4194304"):
        Job("fetch", fitting + "long")


def test_a_result_is_bounded() -> None:
    """X14"""
    check_result("fetch", b"x" * RESULT_BYTES_MAX)

    with pytest.raises(TooLarge, match="pass a reference"):
        check_result("fetch", b"x" * (RESULT_BYTES_MAX + 1))


@pytest.mark.parametrize("name", ["session", "subject"])
def test_a_name_that_could_not_be_indexed_everywhere_is_refused(name: str) -> None:
    """X14: PostgreSQL would refuse it later, and with it all jobs of its group."""
    job = Job("fetch", "{}")

    job.options(**{name: "x" * TEXT_BYTES_MAX})  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match=f"{name} is at most 2000 bytes, not 2001"):
        job.options(**{name: "x" * (TEXT_BYTES_MAX + 1)})  # type: ignore[arg-type]


def test_a_unique_key_is_bounded_together_with_its_scope() -> None:
    """X14 X2"""
    most = "x" * (TEXT_BYTES_MAX - len("kind:fetch:"))

    assert f"kind:fetch:{most}" == Unique(key=most).stored("fetch", "default")
    with pytest.raises(TooLarge, match="unique key is at most 2000 bytes, not 2001"):
        Unique(key=most + "x").stored("fetch", "default")


def test_an_error_keeps_its_beginning() -> None:
    """X14"""
    long = "why " * ERROR_LENGTH_MAX

    assert "why" == shortened("why")
    assert ERROR_LENGTH_MAX == len(shortened(long))
    assert shortened(long).startswith("why why")
    assert shortened(long).endswith("…")
