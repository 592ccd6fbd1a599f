"""Garbage collection of a worker whose threads overlap. Exercises ``worker.memory``."""

from __future__ import annotations

import gc

import pytest

from penstock.runtime.spark.worker import memory as module
from penstock.runtime.spark.worker.memory import no_garbage_collection


class Clock:
    """The time that the collector sees."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr(module.gc, "collect", found.append)
    return found


def test_garbage_is_not_collected_while_any_thread_is_inside(collected: list[int]) -> None:
    """The collector comes back with the last one."""
    with no_garbage_collection():
        with no_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    assert collected == []


def test_threads_that_overlap_for_long_do_not_keep_garbage_for_ever(
    collected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of a pool may always have some application in a batch."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    with no_garbage_collection():
        for seconds in (1, 11, 2, 12):
            clock.now_s += seconds
            with no_garbage_collection():
                pass
        assert len(collected) == 2
