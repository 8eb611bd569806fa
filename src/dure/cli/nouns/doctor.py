"""`dure doctor`: what is wrong with the store and the fleet, and how to put it right."""

from typing import TYPE_CHECKING, Final

from dure.cli.catalog import DONE, PROBLEMS
from dure.cli.grammar import Given, PlainVerb, Verbs
from dure.cli.screen import Screen
from dure.cli.wording import clean, counted
from dure.core.errors import SchemaAhead, SchemaBehind

if TYPE_CHECKING:
    from dure.cli.desk import Place
    from dure.engine.desk.checkup import Finding

_COLOURS: Final = {"good": "green", "warning": "yellow", "bad": "red"}
_SKEW_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 1.0


def _examine(screen: Screen, given: Given) -> int:
    import asyncio

    from dure.cli.desk import place_of

    place = place_of(given)
    found = asyncio.run(_findings(place))
    _show(screen, found)
    problems = [finding for finding in found if finding.verdict != "good"]
    screen.say(f"{counted(len(problems), 'problem')} found." if problems else "All is well.")
    return PROBLEMS if problems else DONE


async def _findings(place: "Place") -> "list[Finding]":
    from dure.cli.premises import premises
    from dure.engine.desk.checkup import Finding, Verdict
    from dure.engine.desk.insights import Insights

    store, kinds = place
    found = premises(store) if store.dialect == "sqlite" else []
    try:
        await store.open(migrate=False)
    except (SchemaBehind, SchemaAhead) as error:
        return [*found, Finding("schema", Verdict.BAD, error.message.removesuffix("."), error.hint)]
    try:
        found.append(Finding("schema", Verdict.GOOD, "is up to date"))
        found += await _clocks(place)
        found += await Insights(store, kinds).health()
    finally:
        await store.close()
    return found


async def _clocks(place: "Place") -> "list[Finding]":
    """How far this machine's clock is from the store's, how quickly the store answers, and
    whether leases leave enough time for a beat to get through."""
    from dure.core.settings import check
    from dure.engine.desk.checkup import Finding, Verdict
    from dure.engine.desk.insights import Insights
    from dure.engine.store_clock import StoreClock
    from dure.ports.clock import SystemClock

    clock = SystemClock()
    ours = StoreClock(place.store, clock)
    began = clock.monotonic()
    await ours.sync()
    answered = clock.monotonic() - began
    skew = ours.skew()
    is_near = abs(skew) < _SKEW_SECONDS
    values = {v.setting.key: v.value for v in await Insights(place.store).settings()}
    lease, beat = float(values["worker.lease"]), float(values["worker.beat"])
    problems = check(values)
    is_quick = answered < min(_ANSWER_SECONDS, beat)
    if problems:
        margin = Finding("settings", Verdict.BAD, problems[0], "Change one: `dure settings set`.")
    else:
        margin = Finding(
            "settings", Verdict.GOOD, f"a lease of {lease:g}s lasts {lease / beat:.3g} beats"
        )
    return [
        Finding(
            "clock",
            Verdict.GOOD if is_near else Verdict.WARNING,
            f"this machine is {abs(skew):.3f}s {'ahead of' if skew > 0 else 'behind'} the store",
            "" if is_near else "Synchronise the clocks; leases do not suffer, times in logs do.",
        ),
        Finding(
            "answer",
            Verdict.GOOD if is_quick else Verdict.WARNING,
            f"the store answered within {answered * 1000:.0f}ms",
            "" if is_quick else "Bring it nearer, or raise worker.lease and worker.beat.",
        ),
        margin,
    ]


def _show(screen: Screen, found: "list[Finding]") -> None:
    if screen.form != "table":
        items = [
            {
                "name": finding.component,
                "verdict": finding.verdict.value,
                "sentence": finding.sentence,
                "fix": finding.fix,
            }
            for finding in found
        ]
        screen.listing("findings", items, (), empty="")
        return
    size = max(len(finding.component) for finding in found)
    for finding in found:
        verdict = finding.verdict.value
        painted = screen.paint(verdict.ljust(7), _COLOURS[verdict])
        screen.write(f"{painted}  {finding.component.ljust(size)}  {clean(finding.sentence)}")
        if finding.fix:
            screen.write(f"{'':7}  {'':{size}}  -> {clean(finding.fix)}")


VERBS: Verbs = {
    "": PlainVerb("check the store and the fleet; exits with 9 when there are problems", _examine)
}
