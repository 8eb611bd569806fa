"""Every error of the tree has a status, and its answer says what, where and what to do."""

from collections.abc import Iterator

import msgspec
import pytest

from dure.core import errors
from dure.core.errors import DureError, NotFound, StoreUnavailable, Unauthenticated
from dure.web.problem import MEDIA_TYPE, STATUS, problem_of, status_of


def tree(cls: type[DureError] = DureError) -> Iterator[type[DureError]]:
    yield cls
    for below in cls.__subclasses__():
        yield from tree(below)


OURS = [cls for cls in tree() if cls.__module__ == errors.__name__]


def test_the_table_has_every_error_of_the_core_and_nothing_else() -> None:
    assert {cls.code for cls in OURS} == set(STATUS)


@pytest.mark.parametrize("cls", OURS)
def test_every_error_is_answered_with_a_problem(cls: type[DureError]) -> None:
    answer = problem_of(cls("What happened.", "What to do."))
    body = msgspec.json.decode(answer.body)

    assert 400 <= answer.status_code < 600
    assert MEDIA_TYPE == answer.media_type
    assert ("What happened.", "What to do.") == (body["detail"], body["hint"])
    assert (answer.status_code, cls.code) == (body["status"], body["code"])


def test_an_error_of_a_battery_is_answered_as_the_class_above_it() -> None:
    class PageGone(NotFound):
        code = "page_gone"

    assert 404 == status_of(PageGone("gone"))


def test_a_client_is_told_when_to_come_back_and_how_to_show_who_it_is() -> None:
    assert "5" == problem_of(StoreUnavailable("away")).headers["Retry-After"]
    assert "Bearer" == problem_of(Unauthenticated("who?")).headers["WWW-Authenticate"]
