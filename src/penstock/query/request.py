"""A query with its store, its partitions and how new the answer must be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from penstock.query.position import PositionBound
from penstock.query.queries import Query


@dataclass(frozen=True, slots=True)
class InStore:
    """A store by name; ``with_query`` completes the request."""

    name: str

    def with_query(self, query: Query) -> StateQueryRequest:
        return StateQueryRequest(self.name, query)


@dataclass(frozen=True, slots=True)
class StateQueryRequest:
    """What ``KafkaStreams.query`` takes. Every method returns a changed copy."""

    store: str
    query: Query
    #: None asks all partitions, or the one of the key if the query names a key.
    partitions: frozenset[int] | None = None
    bound: PositionBound = field(default_factory=PositionBound)
    is_active_required: bool = False
    wants_execution_info: bool = False

    @staticmethod
    def in_store(name: str) -> InStore:
        return InStore(name)

    def with_partitions(self, partitions: Iterable[int]) -> StateQueryRequest:
        return replace(self, partitions=frozenset(partitions))

    def with_all_partitions(self) -> StateQueryRequest:
        return replace(self, partitions=None)

    def with_position_bound(self, bound: PositionBound) -> StateQueryRequest:
        return replace(self, bound=bound)

    def require_active(self) -> StateQueryRequest:
        """Accept no answer from a standby copy."""
        return replace(self, is_active_required=True)

    def enable_execution_info(self) -> StateQueryRequest:
        return replace(self, wants_execution_info=True)
