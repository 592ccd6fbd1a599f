"""Which test drivers the running test uses. The drivers enter themselves, the plugin reads.

Without pytest nothing is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.testing.driver import TopologyTestDriver

_used: dict[int, TopologyTestDriver] | None = None


def begin() -> dict[int, TopologyTestDriver] | None:
    """Start to keep drivers; return those of a test around this one for ``end``."""
    global _used
    before, _used = _used, {}
    return before


def used() -> list[TopologyTestDriver]:
    """Return the drivers that were made or written to since ``begin``, in that order."""
    return [] if _used is None else list(_used.values())


def end(before: dict[int, TopologyTestDriver] | None) -> None:
    """Forget the drivers, and go on with those that ``begin`` returned."""
    global _used  # noqa: PLW0603 - as in begin
    _used = before


def enter(driver: TopologyTestDriver) -> None:
    """Note that the running test uses a driver."""
    if _used is not None:
        _used[id(driver)] = driver
