"""The demonstration on a terminal: lines that stay, and a picture that is drawn over."""

from collections.abc import Mapping
from typing import Final, TextIO

from dure.core.state import State
from dure.demo.account import Account

_WIDTH: Final = 32


class Screen:
    """Draws progress in place on a terminal; elsewhere a line now and then."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._is_terminal = out.isatty()
        self._height = 0
        self._last = -10.0

    def say(self, text: str) -> None:
        """A line that stays."""
        self._erase()
        print(text, file=self._out, flush=True)

    def draw(self, account: Account, passed: float, lanes: Mapping[str, int]) -> None:
        """Progress of all lanes."""
        if not self._is_terminal:
            if passed - self._last >= 2.0:
                self._last = passed
                running = account.states.get(State.RUNNING, 0)
                print(
                    f"{passed:5.1f}s  {account.finished} of {account.total} finished, "
                    f"{running} running",
                    file=self._out,
                    flush=True,
                )
            return
        lines = [f"{passed:5.1f}s  {account.finished} of {account.total} jobs finished"]
        for lane, count in lanes.items():
            goal = count if count == lanes["flood-damaged"] else count + -(-count // 10)
            share = min(account.lanes.get(lane, 0) / goal, 1.0)
            bar = "█" * round(share * _WIDTH)
            lines.append(f"  {lane:<14} {bar:░<{_WIDTH}} {share:4.0%}")
        self._erase()
        print("\n".join(lines), file=self._out, flush=True)
        self._height = len(lines)

    def _erase(self) -> None:
        if self._height:
            print(f"\x1b[{self._height}F\x1b[J", end="", file=self._out)
            self._height = 0

    def end(self) -> None:
        """Leave the picture as it is."""
        self._height = 0
