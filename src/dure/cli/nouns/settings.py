"""`dure settings`: what can be changed while everything runs, and what was."""

from typing import TYPE_CHECKING, Any

from dure.cli.grammar import Given, Parser, Verb, Verbs
from dure.cli.screen import Column
from dure.cli.wording import away

if TYPE_CHECKING:
    from dure.cli.desk import Desk
    from dure.engine.desk.insights import SettingView


def shape(view: "SettingView") -> dict[str, Any]:
    """A setting as JSON shows it; durations are seconds."""
    return {
        "name": view.setting.key,
        "value": view.value,
        "default": view.setting.default,
        "unit": "seconds" if view.setting.form == "duration" else view.setting.unit,
        "accepts": view.setting.bounds,
        "origin": "default" if view.by is None else "operator",
        "by": view.by,
        "at": view.at,
        "why": view.setting.why,
    }


async def _list(desk: "Desk", _given: Given) -> None:
    now = await desk.insights.now()
    found = await desk.insights.settings()
    shown = {view.setting.key: view.setting.show(view.value) for view in found}
    desk.screen.listing(
        "settings",
        [shape(view) for view in found],
        (
            Column("NAME", lambda setting: setting["name"]),
            Column("VALUE", lambda setting: shown[setting["name"]], True),
            Column(
                "ORIGIN",
                lambda setting: (
                    "default"
                    if setting["by"] is None
                    else f"{setting['by']}, {away(setting['at'], now)}"
                ),
            ),
            Column("ACCEPTS", lambda setting: setting["accepts"]),
            Column("WHY", lambda setting: setting["why"]),
        ),
        empty="There are no settings.",
    )


def _setting(parser: Parser) -> None:
    _key(parser)
    parser.add_argument("value", metavar="VALUE", help="such as 200, 30s, debug")


def _key(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME", help="the setting")


async def _set(desk: "Desk", given: Given) -> None:
    await desk.commands.set_setting(given.name, given.value, by=desk.by, reason=given.reason)
    await _tell(desk, given.name)


async def _unset(desk: "Desk", given: Given) -> None:
    await desk.commands.unset_setting(given.name, by=desk.by, reason=given.reason)
    await _tell(desk, given.name)


async def _tell(desk: "Desk", key: str) -> None:
    found = await desk.insights.settings()
    view = next(view for view in found if view.setting.key == key)
    default = " again, the default" if view.by is None else ""
    desk.screen.done(shape(view), f"{key} is {view.setting.show(view.value)}{default}.")


VERBS: Verbs = {
    "list": Verb("show every setting, its value and where it comes from", _list),
    "set": Verb("change a setting everywhere", _set, _setting, True),
    "unset": Verb("go back to the default", _unset, _key, True),
}
