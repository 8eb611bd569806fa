"""Finding a program's app from how people name it: `MODULE`, `MODULE:APP`, `path/to/file.py`."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from dure.core.errors import ConfigError

if TYPE_CHECKING:
    from dure.compose import App

_USUAL: Final = "app"


def load(target: str) -> "App":
    """The app that `target` names. Raises ConfigError."""
    from dure.compose import App

    place, _, _ = target.partition(":")
    module, name = load_module(target)
    apps = {key: value for key, value in vars(module).items() if isinstance(value, App)}
    if name:
        if name in apps:
            return apps[name]
        raise ConfigError(
            f"{place} has no app called {name!r}.", f"It has {_listed(apps)}; name one of them."
        )
    distinct = {id(app): app for app in apps.values()}
    if _USUAL in apps:
        return apps[_USUAL]
    if len(distinct) == 1:
        return next(iter(distinct.values()))
    if not apps:
        raise ConfigError(
            f"{place} has no app.", "At its top level, write `app = dure.App('jobs.db')`."
        )
    raise ConfigError(f"{place} has several apps.", f"Name one, like {place}:{next(iter(apps))}.")


def load_module(target: str) -> tuple[ModuleType, str]:
    """The module that `target` names, and the name after its colon. Raises ConfigError."""
    place, _, name = target.partition(":")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_path(place)
    return module, name


def _from_path(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ConfigError(
                f"There is no module {name!r} here.",
                f"Give its dotted name as seen from {here}, or the path of a .py file.",
            ) from error
        raise _broken(name, error) from error
    except Exception as error:  # a program may raise anything while it is imported
        raise _broken(name, error) from error


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigError(f"There is no file {str(path)!r}.", "Give a .py file or a module name.")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a program may raise anything while it is imported
        del sys.modules[path.stem]
        raise _broken(str(path), error) from error
    return module


def _broken(name: str, error: Exception) -> ConfigError:
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    line = f" ({where.tb_frame.f_code.co_filename}:{where.tb_lineno})" if where else ""
    return ConfigError(
        f"{name} cannot be imported: {type(error).__name__}: {error}{line}.", "Correct it first."
    )


def _listed(apps: dict[str, "App"]) -> str:
    return ", ".join(apps) or "none"
