"""``ServerNode``: one server of a service, with the catalog, the command topic and the queries."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.config import StreamsConfig
from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Topic
from penstock.model.metric import Metric
from penstock.server.applying import CommandEffect, Written, apply_command
from penstock.server.commands.command import Command
from penstock.server.commands.ids import TERMINATE_CLUSTER
from penstock.server.commands.log import CommandLog
from penstock.server.commands.runner import CommandRunner, RunnerState
from penstock.server.commands.status import CommandStatus
from penstock.server.entities.facts import PartitionOffsets, Statuses
from penstock.server.entities.listings import Entity
from penstock.server.errors import NotReadyError, ShutDownError
from penstock.server.host import TransientQueries
from penstock.server.hosts import Hosts
from penstock.server.options import NodeOptions
from penstock.server.planning import Planning
from penstock.server.request import Request, Steps
from penstock.server.request_properties import DENYLIST, checked_properties
from penstock.server.security.topic_rules import TopicRules
from penstock.server.supervision.supervisor import QueryFailure, QuerySupervisor
from penstock.serving.credentials import Access
from penstock.sql.analysed import Analysed
from penstock.sql.engine import SqlEngine
from penstock.sql.processing_log import ProcessingLogSettings
from penstock.sql.session import SqlSession

if TYPE_CHECKING:
    from penstock.runtime.spark.driver.streams import KafkaStreams
    from penstock.server.connectors import Connectors
    from penstock.sql.queries.spark_queries import SparkQueries

_log = logging.getLogger("penstock.server")
#: The end of the name of a query's batch log, the first topic that a query creates.
_BATCHES = "-penstock-batches"
#: How often the event loop checks whether a command that a request waits for is done.
_LOOK_S = 0.01
#: Makes the command with a number; None means that there is nothing to do.
Prepare = Callable[[int], Written | None]


class ServerNode:
    """Run statements and queries. Threads may share it; each request has a session of its own.

    Statements that change something become commands. Every node, also the one that got the
    request, runs commands only from the command topic, in the order of the topic.

    Args:
        options: The node's name, its service, and how long requests wait.
        engine: The engine, without any stream, table or query.
        cluster: The engine's connection to Kafka; None in tests without one.
        supervisor: What runs the queries.
        log: The command topic.
        hosts: What is known of the other nodes.
    """

    def __init__(
        self,
        options: NodeOptions,
        engine: SqlEngine,
        supervisor: QuerySupervisor,
        log: CommandLog,
        *,
        cluster: SparkQueries | None = None,
        hosts: Hosts | None = None,
    ) -> None:
        self.options = options
        self._engine, self.cluster, self.supervisor = engine, cluster, supervisor
        self.hosts = hosts or Hosts(options.host)
        self.topic_rules = TopicRules.of(options.settings)
        self.planning = Planning()
        self.runner = CommandRunner(log, self._apply, options.backup())
        #: What runs connector statements; None refuses them.
        self.connectors: Connectors | None = None
        #: The push queries of this node; None where there are none.
        self.transient: TransientQueries | None = None
        #: Further metrics, such as those of pull and push queries.
        self.metric_sources: list[Callable[[], Iterable[Metric]]] = []
        #: By token the commands that this node waits for, each with its statement if it is parsed.
        self._own: dict[str, Analysed | None] = {}
        #: Queries that ended before this node started.
        self._ended: set[str] = set()
        self._effects: dict[str, CommandEffect] = {}
        denied = options.settings.get(DENYLIST, "").split(",")
        self._denied = frozenset(name.strip() for name in denied if name.strip())
        self.is_terminated = threading.Event()

    # Life

    def start(self) -> ServerNode:
        """Run all commands of the topic, then start the queries that are left."""
        self.runner.start()
        if not self.runner.wait_ready(self.options.start_s):
            raise NotReadyError(
                "slow-commands",
                f"the command topic was not read in {self.options.start_s:.0f} s",
                fix="see whether Kafka and the schema registry answer",
            )
        self.supervisor.follow(self._engine.catalog)
        self.supervisor.start()
        self._forget_orphans()
        self._make_log_stream()
        return self

    def announce(self, host: str | None = None) -> None:
        """Begin to send this node's state to the other nodes.

        Args:
            host: Host and port under which others know this node, once it is known on which port
                it answers; None keeps the one of the options.
        """
        if host is not None:
            self.options = replace(self.options, host=host)
            self.hosts.host = host
        self.hosts.start(self.own_statuses)

    def close(self) -> None:
        """End the queries after their current batches; the service's other nodes go on."""
        self.hosts.close()
        self.runner.close()
        self.supervisor.close()
        if self.cluster is not None:
            self.cluster.close()

    def __enter__(self) -> ServerNode:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()

    # Requests

    def execute(
        self,
        sql: str,
        properties: Mapping[str, Any] | None = None,
        variables: Mapping[str, str] | None = None,
        sequence: int | None = None,
        *,
        access: Access = Access.FULL,
    ) -> list[Entity]:
        """Run a script and return one entity per statement that has one.

        Args:
            sql: Statements, each ended by a semicolon.
            properties: Settings in force for the script.
            variables: Variables that the script may use.
            sequence: A command sequence number to wait for.
            access: What the caller may do.

        Raises:
            ServerError: what is wrong, with ksqlDB's error code.
        """
        self.wait_for(sequence)
        steps = self.steps(sql, properties or {}, variables or {}, access)
        while True:
            try:
                time.sleep(next(steps))
            except StopIteration as done:
                entities: list[Entity] = done.value
                return entities

    def steps(
        self, sql: str, properties: Mapping[str, Any], variables: Mapping[str, str], access: Access
    ) -> Steps[list[Entity]]:
        """Run a script step by step: between two steps its caller waits, and holds no thread."""
        return (yield from Request(self, properties, variables, access).run(sql))

    @property
    def engine(self) -> SqlEngine:
        return self._engine

    @property
    def config(self) -> StreamsConfig:
        return self.options.config

    def session(
        self, properties: Mapping[str, Any], variables: Mapping[str, str] | None = None
    ) -> SqlSession:
        """Return a session for one request: the same catalog, the request's settings in force.

        Raises:
            BadRequestError: ``fixed-setting`` for one that a request may not change.
            SqlError: ``unknown-setting`` or ``bad-setting``.
        """
        return self._engine.session(self.checked(properties), variables)

    def checked(self, properties: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings of a request as text."""
        return checked_properties(properties, self._denied)

    def running(self, query_id: str) -> KafkaStreams | None:
        return self.supervisor.application(query_id)

    def wait_for(self, sequence: int | None) -> None:
        """Wait until this node has run the command with a sequence number."""
        if sequence is not None and sequence >= 0:
            self.runner.wait_for(sequence, self.options.catch_up_s)

    async def caught_up(self, sequence: int | None) -> None:
        """Wait for a command without holding a thread: it may never be written."""
        if sequence is None:
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.options.catch_up_s
        while self.runner.sequence < sequence and loop.time() < deadline:
            await asyncio.sleep(_LOOK_S)
        self.runner.wait_for(sequence, 0.0)

    # Commands

    def submit(self, prepare: Prepare) -> tuple[int, Command, CommandStatus] | None:
        """Write a command, run it, and do what only its writer does: delete topics and state.

        Args:
            prepare: Makes the command; see ``CommandRunner.submit``.
        """
        written: list[str] = []

        def own(number: int) -> Command | None:
            made = prepare(number)
            if made is None:
                return None
            self._own[made.command.token] = made.analysed
            written.append(made.command.token)
            return made.command

        try:
            done = self.runner.submit(own)
            if done is None:
                return None
            sequence, command = done
            effect = self._effects.pop(command.token, None)
            if effect is not None:
                self._finish(effect)
            status = self.runner.statuses.get(command.id) or CommandStatus("QUEUED")
            return sequence, command, effect.status if effect is not None else status
        finally:
            for token in written:
                self._own.pop(token, None)
                self._effects.pop(token, None)

    def _apply(self, command: Command) -> CommandStatus:
        """Run one command of the topic, whichever node wrote it."""
        effect = apply_command(self._engine, command, self._own.get(command.token))
        self._engine.catalog = replace(effect.catalog, ended=[])
        if self.runner.state is RunnerState.STARTING:
            self._ended.update(effect.ended)
        if self.runner.state is RunnerState.RUNNING:
            self.supervisor.follow(self._engine.catalog)
        if command.token in self._own:
            self._effects[command.token] = effect
        if command.id == TERMINATE_CLUSTER and self.runner.state is RunnerState.RUNNING:
            self.is_terminated.set()
        return effect.status

    def _finish(self, effect: CommandEffect) -> None:
        for query_id in effect.ended:
            self.supervisor.forget(query_id)
        if effect.deleted:
            done = self.supervisor.afterwards(
                lambda: self._delete(effect.deleted), "topics", effect.ended
            )
            done.wait(self.options.catch_up_s)

    def _delete(self, topics: Sequence[Any]) -> None:
        for deleted in topics:
            for subject in deleted.subjects:
                self._engine.registry.delete(subject)
            if self.cluster is not None:
                self.cluster.admin.delete_topics([deleted.topic], missing_ok=True)

    def _forget_orphans(self) -> None:
        """Delete the state of terminated queries whose node died before it could delete it.

        Only queries that a command has ended are deleted. Others with the same service id may
        belong to a script that runs with ``penstock sql run``, or to the file of another server.
        """
        if self.cluster is None or self.runner.state is not RunnerState.RUNNING:
            return
        topics = self.cluster.admin.topics()
        for query_id in sorted(self._ended - self._engine.catalog.queries.keys()):
            if f"{self.application_id(query_id)}{_BATCHES}" in topics:
                _log.info("deleting what query %s has left", query_id)
                self.supervisor.forget(query_id)

    def _make_log_stream(self) -> None:
        """Make the processing log a stream of the service, if the settings say so."""
        log = ProcessingLogSettings.of(self.options.settings)
        if not log.creates_stream or self.runner.state is not RunnerState.RUNNING:
            return
        if log.stream in self._engine.catalog.sources:
            return
        try:
            self.execute(log.create_stream())
        except PenstockError as error:
            # Queries write to the log's topic without the stream, so the server starts anyway.
            _log.error("the stream of the processing log could not be created: %s", error)

    # What entities read

    @property
    def admin(self) -> Admin | None:
        return None if self.cluster is None else self.cluster.admin

    @property
    def host(self) -> str:
        return self.options.host

    def own_statuses(self) -> dict[str, str]:
        return {name: self.supervisor.status(name) for name in self._engine.catalog.queries}

    def statuses(self, query_id: str) -> Statuses:
        return {
            self.host: self.supervisor.status(query_id),
            **self.hosts.statuses(query_id),
        }

    def push_queries(self) -> Mapping[str, str]:
        return {} if self.transient is None else self.transient.describe()

    def failures(self, query_id: str) -> list[QueryFailure]:
        return self.supervisor.failures(query_id)

    def topics(self) -> Mapping[str, Topic]:
        return {} if self.admin is None else self.admin.topics()

    def application_id(self, query_id: str) -> str:
        return self._engine.application_id(query_id)

    def offsets(self, query_id: str) -> Mapping[str, list[PartitionOffsets]]:
        query, admin = self._engine.catalog.queries.get(query_id), self.admin
        if query is None or admin is None:
            return {}
        topics, known = {source.topic for source in query.plan.sources}, admin.topics()
        places = [
            (name, each.id) for name in topics & known.keys() for each in known[name].partitions
        ]
        starts, ends = admin.begin_offsets(places), admin.end_offsets(places)
        try:
            committed = admin.group_offsets(self.application_id(query_id), places)
        except PenstockError:
            committed = {}
        found: dict[str, list[PartitionOffsets]] = {}
        for topic, number in places:
            place = topic, number
            offsets = PartitionOffsets(
                number, starts[place], ends[place], committed.get(place, starts[place])
            )
            found.setdefault(topic, []).append(offsets)
        return found

    def consumers(self) -> Mapping[str, tuple[int, int]]:
        admin = self.admin
        if admin is None:
            return {}
        found: dict[str, tuple[int, int]] = {}
        for group in admin.groups():
            members = len(admin.group(group.id).members)
            for topic in {topic for topic, _ in admin.group_offsets(group.id)}:
                count, groups = found.get(topic, (0, 0))
                found[topic] = (count + members, groups + 1)
        return found

    # Health

    @property
    def server_status(self) -> str:
        """The status of ``/info``: RUNNING, DEGRADED, TERMINATING or STARTING."""
        if self.is_terminated.is_set():
            return "TERMINATING"
        return self.runner.state.value

    def refuse_if_ended(self) -> None:
        """Refuse requests after TERMINATE CLUSTER."""
        if self.is_terminated.is_set():
            raise ShutDownError(
                "terminated", "the cluster has been terminated", fix="start it again"
            )
