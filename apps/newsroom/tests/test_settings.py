"""What an operator gets wrong is said at once, by the name of the variable."""

import pytest

from dure.core.errors import ConfigError
from newsroom.settings import Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALLOW", "10.0.0.0/99"),
        ("USER_AGENT", " "),
        ("SITE", "ftp://news.test"),
        ("SITE", ""),
        ("AI_URL", "api.test/v1"),
        ("ALERT_URL", "nonsense"),
        ("PORT", "99999"),
        ("SWEEP", "often"),
    ],
)
def test_a_value_that_cannot_work_is_refused_with_its_variable(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"NEWSROOM_{name}"):
        Settings.load({f"NEWSROOM_{name}": value, "NEWSROOM_AI_KEY": "key"})


def test_tokens_that_cannot_be_read_are_refused_before_any_work_begins() -> None:
    with pytest.raises(ConfigError, match="token number 1"):
        Settings.load({"NEWSROOM_TOKENS": "anna:boss:a-token-of-twenty-letters"})


def test_a_site_may_be_given_with_a_slash_at_its_end() -> None:
    assert "https://news.test" == Settings.load({"NEWSROOM_SITE": "https://news.test/"}).site
