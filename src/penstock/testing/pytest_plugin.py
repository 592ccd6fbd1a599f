"""The pytest plugin: short tracebacks, and what test drivers know when a test fails.

It is loaded wherever Penstock is installed, ``-p no:penstock`` turns it off. Nothing of Penstock is
imported here, so that test suites that do not use a driver do not wait for it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import pytest

from penstock.testing import drivers_in_use

if TYPE_CHECKING:
    from penstock.testing.driver import TopologyTestDriver

_PACKAGE = str(Path(__file__).resolve().parents[1]) + os.sep
#: Drivers of one test, and records of one driver, that a report has room for.
_MOST_DRIVERS = 3
_MOST_RECORDS = 10


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Keep the drivers that a test uses until its reports are made."""
    before = drivers_in_use.begin()
    try:
        return (yield)
    finally:
        drivers_in_use.end(before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hide Penstock's frames, and add what was dropped and the topology to a failure."""
    if call.excinfo is not None:
        _hide_frames(call.excinfo.value)
    report = yield
    if report.failed and report.when in ("setup", "call"):
        for driver in drivers_in_use.used()[:_MOST_DRIVERS]:
            report.sections.append(
                (f"TopologyTestDriver {driver.application_id!r}", driver_report(driver))
            )
    return report


def driver_report(driver: TopologyTestDriver) -> str:
    """Return what a driver has dropped and written, and the tree of its topology."""
    return "\n".join(_lines(driver))


def _lines(driver: TopologyTestDriver) -> Iterator[str]:
    # Whoever has a driver has loaded this already.
    from penstock.topology.tree import to_tree  # noqa: PLC0415

    counts = driver.dropped_records
    notes: dict[str, list[str]] = {}
    for (node, reason), count in counts.items():
        notes.setdefault(node, []).append(f"✗ {_records(count)} dropped: {reason}")
    yield f"{_records(sum(counts.values()))} dropped" + (":" if driver.dropped else "")
    shown = driver.dropped[:_MOST_RECORDS]
    yield from (f"  {each}" for each in shown)
    if len(driver.dropped) > len(shown):
        yield f"  … and {len(driver.dropped) - len(shown)} more: driver.dropped has them all"
    written = Counter(record.topic for record in driver.outputs())
    topics = ", ".join(f"{topic!r} {count}" for topic, count in sorted(written.items()))
    yield f"records written: {topics or 'none'}"
    yield ""
    yield to_tree(driver.topology.graph, notes)


def _records(count: int) -> str:
    return f"{count or 'no'} record{'s' * (count != 1)}"


def _hide_frames(error: BaseException) -> None:
    """Mark the modules of this package that a traceback goes through, as pytest expects it.

    A chain of errors has several tracebacks. ``--full-trace`` shows hidden frames.
    """
    chain: list[BaseException | None] = [error]
    seen: set[int] = set()
    while chain:
        each = chain.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        chain += [each.__cause__, each.__context__]
        for frame in _frames(each.__traceback__):
            if frame.f_code.co_filename.startswith(_PACKAGE):
                frame.f_globals["__tracebackhide__"] = True


def _frames(traceback: TracebackType | None) -> Iterator[FrameType]:
    while traceback is not None:
        yield traceback.tb_frame
        traceback = traceback.tb_next
