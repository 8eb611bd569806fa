"""What was booked on limits, counted again in the plainest way: a list and a sum."""

from dure.core.limit import Limit
from dure.core.ring import MICROSECONDS


class Bookings:
    """Every booking of every limit, to compare with what its windows allow."""

    def __init__(self) -> None:
        self._limits: dict[str, Limit] = {}
        self._booked: dict[str, dict[int, int]] = {}

    def define(self, limit: Limit) -> None:
        self._limits[limit.name] = limit
        self._booked[limit.name] = {}

    def add(self, name: str, slot: int, count: int) -> str:
        """Book; says what was exceeded, or nothing."""
        booked = self._booked[name]
        booked[slot] = booked.get(slot, 0) + count
        for window in self._limits[name].windows:
            since = slot - round(window.seconds * MICROSECONDS)
            used = sum(number for at, number in booked.items() if since < at <= slot)
            if used > window.count:
                return f"{used} permits of {name!r} are booked in one window of {window.name}."
        return ""

    def remove(self, name: str, slot: int, count: int) -> None:
        """Give back what was booked at `slot`."""
        booked = self._booked[name]
        booked[slot] = max(booked.get(slot, 0) - count, 0)
