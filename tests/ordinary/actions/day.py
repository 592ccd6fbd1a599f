"""What actions work on, and what an action is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from tests.cluster.application import Application
from tests.cluster.feeder import Feeder
from tests.cluster.topology import APPLICATION, INPUTS
from tests.integration.kafka.proxy import KafkaProxy
from tests.ordinary.clock import MovableClock
from tests.ordinary.notes import NoteFeeder
from tests.ordinary.recorder import Place, Recorder
from tests.ordinary.sayings import Sayings

USER = "app"


def nothing() -> None:
    """Undo nothing."""


@dataclass(frozen=True)
class Act:
    """Something that was done. It is undone after ``seconds``."""

    what: str
    #: Returns what shows that the action took effect, or None if nothing shows it yet.
    evidence: Callable[[], str | None]
    seconds: float = 5.0
    undo: Callable[[], None] = nothing
    #: Whether it is undone as soon as there is evidence.
    ends_when_seen: bool = False


@dataclass(frozen=True)
class Deleted:
    """Offsets that an operator may have deleted before they were read."""

    place: Place
    first: int
    end: int


@dataclass
class Day:
    """Everything that one run consists of, as actions see it."""

    broker: EmbeddedBroker
    proxy: KafkaProxy
    clock: MovableClock
    application: Application
    sayings: Sayings
    recorder: Recorder
    feeder: Feeder
    notes: NoteFeeder
    chance: random.Random
    partitions: int
    #: A disk of its own for the state, or None if none can be mounted.
    disk: Path | None
    others: list[Feeder] = field(default_factory=list)
    deleted: list[Deleted] = field(default_factory=list)
    #: What went wrong that is no difference in the results.
    problems: list[str] = field(default_factory=list)
    #: How far each partition is committed for sure; offsets in Kafka may expire.
    covered: dict[Place, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.servers = self.broker.internal_servers
        # A broker that a busy machine keeps waiting says that it is not ready, for a while.
        self.admin = Admin({"bootstrap.servers": self.servers, "log_level": 0}, timeout_s=90.0)
        self.inputs = [(topic, number) for topic in INPUTS for number in range(self.partitions)]

    def places(self, topic: str) -> list[Place]:
        """List the partitions of an input."""
        return [(topic, number) for number in range(self.partitions)]

    def committed(self, places: list[Place]) -> dict[Place, int]:
        """Return the offsets that the group has now, and remember the highest ones."""
        found = self.admin.group_offsets(APPLICATION, places)
        for place, offset in found.items():
            self.covered[place] = max(self.covered.get(place, 0), offset)
        return found

    def read_up_to(self, place: Place) -> int:
        """Return the offset before which the application has certainly read everything."""
        return self.covered.get(place, 0)
