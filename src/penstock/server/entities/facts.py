"""What entities are made of: the catalog, and what the node knows of running queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.kafka.admin_answers import Topic
from penstock.server.security.topic_rules import TopicRules
from penstock.server.supervision.supervisor import QueryFailure
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.functions.registry import FunctionRegistry

Statuses = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PartitionOffsets:
    """How far a query has read one partition of a topic."""

    partition: int
    start: int
    end: int
    committed: int


class Observing(Protocol):
    """What a node knows beyond its catalog; ``ServerNode`` implements it."""

    @property
    def host(self) -> str:
        """Return host and port of this node."""

    @property
    def topic_rules(self) -> TopicRules:
        """Return which topics are listed."""

    def statuses(self, query_id: str) -> Statuses:
        """Return the status of a query on each host that runs it."""

    def push_queries(self) -> Mapping[str, str]:
        """Return the statements of this node's push queries by their ids."""

    def failures(self, query_id: str) -> list[QueryFailure]: ...

    def topics(self) -> Mapping[str, Topic]:
        """Ask the cluster for its topics."""

    def offsets(self, query_id: str) -> Mapping[str, list[PartitionOffsets]]:
        """Return how far a query has read its topics."""

    def application_id(self, query_id: str) -> str: ...

    def consumers(self) -> Mapping[str, tuple[int, int]]:
        """Return by topic how many consumers and groups have read it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that listings need for one request."""

    catalog: Catalog
    functions: FunctionRegistry
    #: Settings in force: those of the node, and over them those of the request.
    settings: Mapping[str, str]
    node: Observing
    #: Settings that the request has changed.
    overrides: Mapping[str, str] = field(default_factory=dict)
