"""Tables that line up, colours only where they show, texts that cannot command a terminal."""

import io
import json

import pytest

from dure.cli.screen import Column, Screen
from dure.cli.wording import away, clean, counted, cut, states, width

NOW = 1_700_000_000.0
COLUMNS = (
    Column("NAME", lambda item: item["name"]),
    Column("JOBS", lambda item: str(item["jobs"]), is_number=True),
    Column("NOTE", lambda item: item["note"]),
)
ITEMS = (
    {"name": "두레", "jobs": 7, "note": "FAILED"},
    {"name": "acme", "jobs": 12345, "note": None},
)


class Stream(io.StringIO):
    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def _screen(form: str = "table", *, is_terminal: bool = False, **options: bool) -> Screen:
    out, err = Stream(is_terminal=is_terminal), Stream(is_terminal=is_terminal)
    return Screen(form, out=out, err=err, **options)


def _out(screen: Screen) -> str:
    assert isinstance(screen._out, Stream)
    return screen._out.getvalue()


def _err(screen: Screen) -> str:
    assert isinstance(screen._err, Stream)
    return screen._err.getvalue()


def test_columns_line_up_also_where_letters_are_wide() -> None:
    screen = _screen()

    screen.listing("things", ITEMS, COLUMNS, empty="none")

    assert ["NAME   JOBS  NOTE", "두레      7  FAILED", "acme  12345  -"] == _out(
        screen
    ).splitlines()


def test_only_a_terminal_cuts_the_last_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    long = [{"name": "a", "jobs": 1, "note": "x" * 80}]
    terminal, pipe = _screen(is_terminal=True, has_colour=False), _screen()

    for screen in (terminal, pipe):
        screen.listing("things", long, COLUMNS, empty="none")

    assert 40 == len(_out(terminal).splitlines()[1])
    assert _out(terminal).splitlines()[1].endswith("x…")
    assert _out(pipe).splitlines()[1].endswith("x" * 80)


@pytest.mark.parametrize(
    ("is_terminal", "has_colour", "variable", "painted"),
    [
        (True, True, "", True),
        (False, True, "", False),
        (True, False, "", False),
        (True, True, "1", False),
    ],
)
def test_colours_are_only_for_terminals_that_want_them(
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    has_colour: bool,
    variable: str,
    painted: bool,
) -> None:
    monkeypatch.setenv("NO_COLOR", variable)
    screen = _screen(is_terminal=is_terminal, has_colour=has_colour)

    screen.listing("things", ITEMS, COLUMNS, empty="none")

    assert painted is ("\x1b[31mFAILED\x1b[0m" in _out(screen))


def test_every_form_of_a_listing_is_data_and_nothing_else() -> None:
    forms = {form: _screen(form) for form in ("json", "ndjson", "ids")}

    for screen in forms.values():
        screen.listing("things", ITEMS, COLUMNS, empty="none")

    assert {"version": 1, "what": "things", "items": list(ITEMS)} == json.loads(_out(forms["json"]))
    assert list(ITEMS) == [json.loads(line) for line in _out(forms["ndjson"]).splitlines()]
    assert ["두레", "acme"] == _out(forms["ids"]).splitlines()
    assert "두레" in _out(forms["json"])


def test_progress_is_only_for_terminals_and_is_wiped_before_talk() -> None:
    terminal, pipe = _screen(is_terminal=True), _screen()

    for screen in (terminal, pipe):
        screen.progress("half way")
        screen.say("done")

    assert "\r\x1b[Khalf way\r\x1b[Kdone\n" == _err(terminal)
    assert "done\n" == _err(pipe)


def test_foreign_texts_cannot_command_a_terminal() -> None:
    assert "a b" == clean("a\n\t b")
    assert "\\x1b[31mred" == clean("\x1b[31mred")
    assert "두레 \\u202e" == clean("두레 \u202e")


def test_words_for_numbers_and_moments() -> None:
    assert ("1 job", "2,000 jobs", "1+ jobs", "3 batches") == (
        counted(1, "job"),
        counted(2000, "job"),
        counted(1, "job", capped=True),
        counted(3, "batch"),
    )
    assert ("-", "5m ago", "in 2h") == (
        away(None, NOW),
        away(NOW - 300, NOW),
        away(NOW + 7200, NOW),
    )
    assert ("3 pending, 1 failed", "none") == (
        states({"pending": 3, "running": 0, "failed": 1}),
        states({"pending": 0}),
    )
    assert (4, "두…", "acme") == (width("두레"), cut("두레길", 4), cut("acme", 4))
