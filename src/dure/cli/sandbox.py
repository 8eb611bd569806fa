"""The way to `dure sandbox`, whose package production installs do not carry."""

from importlib import import_module

from dure.core.errors import ConfigError


def run(words: list[str]) -> int:
    """Hand over to the sandbox. Raises ConfigError when it is not installed."""
    try:
        command = import_module("dure_sandbox.command")
    except ModuleNotFoundError as error:
        if error.name not in {"dure_sandbox", "dure_sandbox.command"}:
            raise
        raise ConfigError(
            "The sandbox is not installed.", "Install it: pip install dure-sandbox."
        ) from error
    code: int = command.run(words)
    return code
