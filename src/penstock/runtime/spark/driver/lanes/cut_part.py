"""An application's part in a cut of several applications that read what others of them write."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.lanes.stops import Stops


class HeldRunner(Protocol):
    """What leads the application, such as ``BatchRunner``."""

    @property
    def stops(self) -> Stops: ...

    def hold(self, timeout_s: float) -> AbstractContextManager[int | None]:
        """Hold all stores at one cut; yield its number, or None if there is none in time."""


class CutPart:
    """Brings an application to given offsets of its source topics, and holds it there.

    It belongs to one run of the application. If that ends, ``hold`` yields None; the next run knows
    nothing of the stops.
    """

    def __init__(self, runner: HeldRunner) -> None:
        self._runner = runner
        self._stops = runner.stops

    @property
    def topics(self) -> frozenset[str]:
        """The source topics of the application, without those that its sub-topologies share."""
        return self._stops.topics

    def freeze(self, topics: Collection[str]) -> dict[TopicPartition, int]:
        """Read nothing more of some topics; return the offsets up to which they are read."""
        return self._stops.freeze(topics)

    def stop(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read on up to these offsets, which are not before those that ``freeze`` has returned."""
        self._stops.move(offsets)

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[int | None]:
        """Hold the application where all its stores contain exactly what is before the stops.

        Nothing is written meanwhile. Yields the number of the application's own cut, or None if it
        has not come there in time.
        """
        deadline = time.monotonic() + timeout_s
        if not self._stops.wait(timeout_s):
            yield None
            return
        with self._runner.hold(max(deadline - time.monotonic(), 0.0)) as number:
            is_there = number is not None and number >= 0 and self._stops.are_reached
            yield number if is_there else None

    def lift(self) -> None:
        """Let the application go on."""
        self._stops.lift()
