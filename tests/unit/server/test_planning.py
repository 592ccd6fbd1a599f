"""Places for statements that are planned, and when garbage is collected."""

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from penstock.server import planning as module
from penstock.server.planning import PLANNED_AT_A_TIME, Collector, Planning


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Look for garbage all the time; the list says of each full collection who was planning."""
    planning = Planning()
    free: list[bool] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            free.append(ENTERED.is_set())

    monkeypatch.setattr(module, "_LOOK_S", 0.001)
    monkeypatch.setattr(module, "_YOUNG", -1)
    ENTERED.clear()
    collector = Collector(planning).start()
    gc.callbacks.append(note)
    PLANNINGS[:] = [planning]
    yield free
    gc.callbacks.remove(note)
    collector.close()


ENTERED = threading.Event()
PLANNINGS: list[Planning] = []


def test_places_are_free_again_after_an_error() -> None:
    """A statement that is refused takes no place with it."""
    planning = Planning()
    for _ in range(2 * PLANNED_AT_A_TIME):
        with suppress(ValueError), planning:
            assert not planning.is_free
            int("wrong")
    assert planning.is_free


def test_garbage_is_collected_between_statements(quick: list[bool]) -> None:
    """While a statement is planned nothing stops all threads for the sake of garbage."""
    with PLANNINGS[0]:
        ENTERED.set()
        threading.Event().wait(0.1)
        ENTERED.clear()
    while len(quick) < 3:
        threading.Event().wait(0.001)
    assert not any(quick)


def test_a_statement_that_waits_holds_up_garbage_for_some_time_only(
    quick: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A registry may take a minute to answer."""
    monkeypatch.setattr(module, "_WAIT_S", 0.01)
    with PLANNINGS[0]:
        ENTERED.set()
        while not any(quick):
            threading.Event().wait(0.001)


def test_the_process_is_as_before_when_the_collector_is_closed() -> None:
    """A notebook may start and stop a server."""
    before = gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()
    collector = Collector(Planning()).start()
    assert gc.get_threshold()[2] > before[0][2]
    assert sys.getswitchinterval() <= 0.001
    assert gc.get_freeze_count() > 0
    collector.close()
    assert (gc.get_threshold(), sys.getswitchinterval(), gc.get_freeze_count()) == before


def test_a_collector_that_never_started_closes() -> None:
    """A server that fails at its start is closed, too."""
    Collector(Planning()).close()
