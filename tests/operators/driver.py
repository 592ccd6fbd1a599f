"""One face for every engine that runs operators, so that one test says it for all of them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from penstock import Topology
from penstock.testing import Row, TopologyTestDriver


class PerRecord:
    """Takes each record through the whole topology before the next one, as in Java's driver."""

    #: Settings that make this engine's results comparable with those of the others.
    config: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        self._drivers: list[TopologyTestDriver] = []

    def start(self, topology: Topology, config: Mapping[str, Any] | None = None) -> None:
        """Starts a topology; the wall clock begins at 0."""
        self._drivers.append(TopologyTestDriver(topology, {**self.config, **(config or {})}))

    def pipe(self, topic: str, table: str) -> None:
        self.inner.pipe(topic, table)

    def read(self, topic: str) -> list[Row]:
        """Takes what was written since the last time."""
        return self.inner.read(topic)

    def advance(self, duration: str) -> None:
        """Lets wall-clock time pass."""
        self.inner.advance_wall_clock_time(duration)

    def dropped(self) -> dict[str, int]:
        """How many records were dropped, by reason."""
        counts: dict[str, int] = {}
        for (_, reason), count in self.inner.dropped_records.items():
            counts[reason] = counts.get(reason, 0) + count
        return counts

    def store(self, name: str) -> Any:
        return self.inner.get_state_store(name)

    @property
    def inner(self) -> TopologyTestDriver:
        return self._drivers[-1]

    def close(self) -> None:
        for driver in self._drivers:
            driver.close()


class OneBatch(PerRecord):
    """Queues all records of a table before it processes the first, and commits once."""

    # A cache would leave out what one batch makes of the same key.
    config: ClassVar[Mapping[str, Any]] = {"statestore.cache.max.bytes": 0}

    def pipe(self, topic: str, table: str) -> None:
        self.inner.pipe_batch({topic: table})


Driver = PerRecord
ENGINES: dict[str, type[Driver]] = {"per_record": PerRecord, "one_batch": OneBatch}
