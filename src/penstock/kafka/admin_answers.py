"""Arguments and results of ``Admin``, as plain values without types of the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

#: A topic and the number of one of its partitions.
Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Broker:
    """One node of a cluster, as clients reach it."""

    id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster behind the bootstrap servers."""

    id: str | None
    brokers: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic to create. With a ``replication`` of -1, the broker decides."""

    name: str
    partitions: int = 1
    replication: int = -1
    config: Mapping[str, str] = field(default_factory=dict)
    #: Settings that older brokers do not know. They are left out there.
    newer: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionState:
    """The brokers of one partition. ``leader`` is -1 while there is none."""

    id: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that exists; its partitions in the order of their numbers."""

    name: str
    partitions: tuple[PartitionState, ...]

    @property
    def replication(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0

    @property
    def is_internal(self) -> bool:
        """Return whether it is one of the broker's own topics."""
        return self.name.startswith("__")


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A setting of a topic. ``is_own`` means that it was set for this topic."""

    value: str | None
    is_own: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A consumer group: ``state`` in Kafka's words, and the client ids of its members."""

    id: str
    state: str
    members: tuple[str, ...] = ()
