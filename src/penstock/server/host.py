"""What the parts of the server that answer queries know of the server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from penstock.config import StreamsConfig
from penstock.server.planning import Planning
from penstock.server.security.topic_rules import TopicRules
from penstock.sql.engine import SqlEngine
from penstock.sql.session import SqlSession

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams


class TransientQueries(Protocol):
    """Push queries that run on this node."""

    def describe(self) -> Mapping[str, str]:
        """Return the statements of push queries by their ids."""

    def end(self, query_id: str) -> bool:
        """End a push query; return False if none has that id. Any thread may call it."""


class QueryHost(Protocol):
    """The server as pull and push queries see it: a catalog, a cluster, and running queries.

    ``ServerNode`` implements it.
    """

    @property
    def engine(self) -> SqlEngine:
        """Return the engine with the catalog as of now. Callers only read it."""

    @property
    def config(self) -> StreamsConfig:
        """Return how to reach Kafka, and the defaults of queries."""

    @property
    def topic_rules(self) -> TopicRules:
        """Return which topics statements and queries must leave alone."""

    @property
    def planning(self) -> Planning:
        """Return the places for statements that are being planned."""

    def session(self, properties: Mapping[str, Any], variables: Mapping[str, str]) -> SqlSession:
        """Return a session for one request: the same catalog, the request's settings in force.

        Raises:
            SqlError: ``unknown-setting`` or ``bad-setting``.
        """

    def running(self, query_id: str) -> KafkaStreams | None:
        """Return the application of a persistent query on this node; None if it does not run."""

    async def caught_up(self, sequence: int | None) -> None:
        """Wait until this node has run the command with this sequence number.

        Raises:
            ServerError: ``not-caught-up``, if that takes too long.
        """
