"""How the rehearsal ends when it does not get to its own end."""

import pytest

from catalog import rehearsal
from dure.core.errors import ConfigError


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        (TimeoutError(), 1, "not over within 115 s"),
        (ConfigError("There is no such store.", "Check it."), 2, "There is no such store."),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_what_ends_a_rehearsal_early_is_said_in_a_sentence(
    end: BaseException,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def ended(*_: object) -> int:
        raise end

    monkeypatch.setenv("STORE", ":memory:")
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    monkeypatch.setattr(rehearsal, "rehearse", ended)

    assert rehearsal.main() == code
    assert said in capsys.readouterr().err
