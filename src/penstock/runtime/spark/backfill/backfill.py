"""``penstock backfill``: history into the stores of an application, which then goes on live.

The order makes it safe to be killed anywhere. First the log of the backfill says that it seeds.
Then come changelogs, clocks and outputs. When all of them are there, the log says so, with the
offsets at which the application begins. These are committed last. Until then a second run begins
again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from penstock.config import (
    APPLICATION_ID,
    CACHE_MAX_BYTES,
    REPLICATION_FACTOR,
    STATE_DIR,
    StreamsConfig,
)
from penstock.errors import InvalidArgumentError, InvalidStateError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import (
    admin_settings,
    consumer_settings,
    isolation_level,
    producer_settings,
)
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.history.passes import PassPlan, looped_topics, plan_passes
from penstock.runtime.settings import plan_fingerprint
from penstock.runtime.spark.backfill.backfill_log import (
    BackfillLog,
    BackfillState,
    Progress,
    Stage,
    backfill_topic,
    topic_spec,
)
from penstock.runtime.spark.backfill.clock_handover import live_clocks, write_clocks
from penstock.runtime.spark.backfill.junction import (
    Junction,
    Topic,
    at_offsets,
    at_time,
    check_offsets,
    until,
)
from penstock.runtime.spark.backfill.seeding import Clients, write_changelog, write_outputs
from penstock.runtime.spark.driver.removal import owned_topics, remove_application
from penstock.runtime.spark.driver.topics import (
    batches_topic,
    internal_topics,
    resolve_patterns,
    source_partitions,
)
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.spark.history.batch import plan_batch
from penstock.runtime.spark.history.errors import as_raised
from penstock.runtime.spark.history.inputs import BatchInput
from penstock.runtime.spark.history.outputs import FILE_KINDS
from penstock.runtime.spark.history.result import BatchResult
from penstock.runtime.spark.history.sources import HistorySource, topic_frame
from penstock.topology.graph import Graph
from penstock.topology.topology import Topology, checked_topology
from penstock.topology.validate import nearest

#: Where outputs of history go: nowhere, or to their topics. Anything else is the place of files.
NO_OUTPUTS, TO_TOPICS = "none", "topics"


@dataclass(frozen=True)
class BackfillRequest:
    """What a backfill is asked for.

    ``inputs`` has the history of each source topic; a topic itself is a history, and None says that
    there is none. ``until_ms`` is the time at which history ends; None says that offsets do.
    """

    inputs: Mapping[str, HistorySource | None]
    until_ms: int | None = None
    outputs: str = NO_OUTPUTS
    replaces_state: bool = False

    def digest(self, graph: Graph, config: StreamsConfig) -> str:
        """Return what two backfills have in common that may go on where the other one ended."""
        told = {
            "inputs": {topic: repr(source) for topic, source in sorted(self.inputs.items())},
            "until": self.until_ms,
            "outputs": self.outputs,
            "plan": plan_fingerprint(graph, config).digest,
        }
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class BackfillReport:
    """What a backfill has done. ``is_repeated`` says that a former run had done it already."""

    offsets: Mapping[TopicPartition, int]
    records: Mapping[str, int]
    changelogs: Mapping[str, int]
    outputs: Mapping[str, int]
    is_repeated: bool = False


class Backfill:
    """One backfill of one application, which does not run meanwhile."""

    def __init__(
        self,
        topology: Topology,
        settings: Mapping[str, Any],
        request: BackfillRequest,
        spark: Callable[[], SparkSession],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._config = StreamsConfig(settings)
        self._application = self._config[APPLICATION_ID]
        self._request = request
        self._open_spark = spark
        self._tell = tell
        self._admin = Admin(admin_settings(self._config))
        topics = self._admin.topics()
        self._sizes = {name: len(topic.partitions) for name, topic in topics.items()}
        self._graph = resolve_patterns(checked_topology(topology).graph, topics)
        self._live = make_plan(self._graph, source_partitions(self._graph, topics))
        self._log = BackfillLog(
            backfill_topic(self._application),
            consumer_settings(self._config, "restore"),
            producer_settings(self._config),
        )
        self._topics = topics.keys()

    def run(self) -> BackfillReport:
        """Do everything up to the offsets; the application can start when this returns.

        Raises:
            InvalidStateError: ``application-running``, ``application-has-state``, or
                ``other-backfill`` if another one has begun and not ended.
            StreamsError: the history does not fit the topics, or a task has failed.
        """
        self._check()
        state = self._state()
        progress = state.progress
        if progress is not None and progress.stage is Stage.SEEDING:
            progress = self._seed(progress, state)
        elif progress is None:
            progress = self._seed(None, state)
        if progress.stage is Stage.DONE:
            return BackfillReport(progress.offsets, progress.records, {}, {}, is_repeated=True)
        self._admin.alter_group_offsets(self._application, progress.offsets)
        self._log.note(replace(progress, stage=Stage.DONE))
        return BackfillReport(progress.offsets, progress.records, self._changelogs, self._outputs)

    #: How many records the last run has written, by store and by topic.
    _changelogs: Mapping[str, int] = {}
    _outputs: Mapping[str, int] = {}

    # Before anything happens

    def _check(self) -> None:
        _check_outputs(self._request.outputs, self._graph, self._sizes)
        mirrored = {
            store: topic
            for store, topic in self._graph.source_changelogs.items()
            if store not in self._graph.global_stores
        }
        for store, topic in mirrored.items():
            raise StreamsError(
                "history-changelog",
                f"topic {topic!r} serves as the changelog of store {store!r}, so history that is"
                " not in the topic would be lost at the next restore",
                fix="set topology.optimization to none, so that the store has a changelog of its"
                " own",
            )
        self._check_inputs()

    def _check_inputs(self) -> None:
        inputs, read = self._request.inputs, self._source_topics()
        for topic in inputs:
            if topic not in read:
                raise InvalidArgumentError(
                    "unknown-topic",
                    f"no source of the topology reads topic {topic!r}{nearest(topic, read)}",
                    fix=f"give the history of: {', '.join(read)}",
                )
        for topic in read:
            if topic not in inputs and topic not in self._global_topics():
                raise InvalidArgumentError(
                    "missing-input",
                    f"the topology reads topic {topic!r}, whose history is not given",
                    fix=f"give it: --input {topic}=parquet:…; the topic itself is a history, too:"
                    f" --input {topic}=topic:{topic}; or say that there is none:"
                    f" --input {topic}=none",
                )

    def _source_topics(self) -> list[str]:
        written = looped_topics(self._graph)
        return [
            t for t in self._live.partitions if t not in written and not self._live.is_internal(t)
        ]

    def _global_topics(self) -> set[str]:
        return {store.topic for store in self._graph.global_stores.values()}

    def _state(self) -> BackfillState:
        """Return what a former run of this backfill has done; refuse any other state."""
        state = BackfillState()
        if self._log.topic in self._topics:
            state = self._log.read()
        found, digest = state.progress, self._request.digest(self._graph, self._config)
        own = found if found is not None and found.request == digest else None
        if own is None or own.stage is not Stage.DONE:
            # What is done may run already; after a kill its group has members for a while.
            self._refuse_members()
        if own is not None:
            return state
        if found is not None and found.stage is not Stage.DONE and not self._request.replaces_state:
            raise InvalidStateError(
                "other-backfill",
                f"another backfill of application {self._application!r} has begun and not ended",
                fix="run that one again with the same options, or begin anew with --replace-state",
            )
        if self._request.replaces_state:
            self._tell("deleting what the application has")
            remove_application(self._admin, self._config)
        else:
            self._refuse_state()
        self._admin.create_topics([topic_spec(self._application, self._config[REPLICATION_FACTOR])])
        return BackfillState()

    def _refuse_members(self) -> None:
        members = self._admin.group(self._application).members
        if members:
            raise InvalidStateError(
                "application-running",
                f"application {self._application!r} runs: its group has members:"
                f" {', '.join(members)}",
                fix="stop all its instances first",
            )

    def _refuse_state(self) -> None:
        own = [t for t in owned_topics(self._application, self._topics) if t != self._log.topic]
        offsets = self._admin.group_offsets(self._application)
        folder = self._folder()
        what = (
            f"topics such as {own[0]!r}"
            if own
            else "committed offsets"
            if offsets
            else f"local state in {str(folder)!r}"
            if folder.exists()
            else None
        )
        if what is not None:
            raise InvalidStateError(
                "application-has-state",
                f"application {self._application!r} has {what}",
                fix="give the program another application.id, or let the backfill delete what it"
                " has: --replace-state",
            )

    def _folder(self) -> Path:
        return Path(self._config[STATE_DIR]).expanduser() / self._application

    # Seeding

    def _seed(self, before: Progress | None, state: BackfillState) -> Progress:
        spark = self._open_spark()
        self._tell("looking at the ends of the history")
        junctions = self._junctions(spark, before)
        offsets = {
            (topic, number): at
            for topic, junction in junctions.items()
            for number, at in junction.offsets.items()
        }
        counts = {topic: junction.records for topic, junction in junctions.items()}
        if before is not None and before.records != counts:
            raise StreamsError(
                "history-changed",
                f"the history has {counts} records, but {before.records} when the backfill began",
                fix="give it the history that it had, or begin anew with --replace-state",
            )
        digest = self._request.digest(self._graph, self._config)
        progress = Progress(Stage.SEEDING, digest, offsets, counts)
        self._log.note(progress)
        self._make_topics()
        with self._batch(spark, junctions) as result, as_raised():
            self._tell("running history into the stores")
            self._changelogs = self._write_changelogs(result)
            self._hand_clocks_over(result)
            self._outputs = self._write_outputs(result)
        seeded = replace(progress, stage=Stage.SEEDED, offsets=offsets | self._looped_offsets())
        self._log.note(seeded)
        return seeded

    def _junctions(self, spark: SparkSession, before: Progress | None) -> dict[str, Junction]:
        found = {}
        committed = isolation_level(self._config) == "read_committed"
        for name in self._source_topics():
            if name in self._global_topics():
                continue
            topic = Topic.of(self._admin, name, committed=committed)
            source = self._request.inputs[name]
            if source is None:
                found[name] = Junction(None, topic.begins, 0)
                continue
            given = source.open(spark, self._config)
            given.check(name)
            found[name] = self._junction(topic, given, before)
        return found

    def _junction(self, topic: Topic, given: BatchInput, before: Progress | None) -> Junction:
        has_offsets = given.offset is not None and given.partition is not None
        if before is not None and has_offsets:
            # What was added to the history since then is live.
            ends = {n: at for (t, n), at in before.offsets.items() if t == topic.name}
            check_offsets(topic, ends)
            given = until(given, ends)
            return Junction(given, ends, at_offsets(topic, given).records)
        if has_offsets:
            return at_offsets(topic, given)
        if self._request.until_ms is None:
            raise InvalidArgumentError(
                "no-junction",
                f"the history of topic {topic.name!r} has no columns with partition and offset, so"
                " nothing says where live begins",
                fix="name the columns: …?partition=…&offset=…; or give a time: --until"
                " 2026-11-01T00:00:00Z",
            )
        consumer = consumer_settings(self._config, "restore")
        return at_time(topic, given, self._request.until_ms, self._admin, consumer)

    def _make_topics(self) -> None:
        """Make the changelogs and the batch log anew: a former run may have written to them."""
        own = owned_topics(self._application, self._admin.topics())
        self._admin.delete_topics([name for name in own if name != self._log.topic])
        shutil.rmtree(self._folder(), ignore_errors=True)
        wanted = {batches_topic(self._application)}
        self._admin.create_topics(
            spec
            for spec in internal_topics(self._live, self._config)
            if spec.name in wanted or spec.name.endswith("-changelog")
        )

    def _batch(self, spark: SparkSession, junctions: Mapping[str, Junction]) -> BatchResult:
        plan = self._passes()
        inputs = {
            topic: self._input(spark, topic, junctions.get(topic)) for topic in plan.input_topics
        }
        wants_outputs = self._request.outputs != NO_OUTPUTS
        # Without a cache, what history makes does not depend on how it is cut.
        config: dict[str, Any] = dict(self._config) | {CACHE_MAX_BYTES.name: 0}
        return plan_batch(
            plan, inputs, config, sizes=self._sizes, other_size=1, clock_ms=0,
            outputs=None if wants_outputs else frozenset(), stores=frozenset(), logs_changes=True,
        )  # fmt: skip

    def _passes(self) -> PassPlan:
        return plan_passes(self._graph, self._live.partitions, self._live.external_topics)

    def _input(self, spark: SparkSession, topic: str, junction: Junction | None) -> BatchInput:
        if junction is not None and junction.given is not None:
            return junction.given
        whole = BatchInput.of(topic_frame(spark, topic, self._config))
        if junction is None:
            # A table for all tasks: an application reads all of its topic, too.
            return whole
        return replace(whole, frame=whole.frame.limit(0))

    def _write_changelogs(self, result: BatchResult) -> dict[str, int]:
        clients = self._clients()
        written: dict[str, int] = {}
        for part in self._live.subtopologies.values():
            for store in part.stores(self._graph):
                spec = self._graph.stores.get(store)
                if spec is None or not spec.logging or store in self._graph.source_changelogs:
                    continue
                topic = f"{self._application}-{store}-changelog"
                tasks = self._live.tasks(part.id)
                written[store] = write_changelog(result.changelog(store), topic, tasks, clients)
                self._tell(f"{written[store]:,} records in {topic}")
        return written

    def _hand_clocks_over(self, result: BatchResult) -> None:
        clocks = {
            TaskId.parse(row["task"]): live_clocks(row["clocks"], self._graph, self._application)
            for row in result.clocks.collect()
        }
        own = {task: each for task, each in clocks.items() if task.subtopology >= 0}
        topic = batches_topic(self._application)
        write_clocks(topic, own, producer_settings(self._config))

    def _write_outputs(self, result: BatchResult) -> dict[str, int]:
        outputs = self._request.outputs
        written: dict[str, int] = {}
        for topic in () if outputs == NO_OUTPUTS else result.topics:
            if outputs == TO_TOPICS:
                written[topic] = write_outputs(
                    result.raw(topic), topic, self._sizes[topic], self._clients()
                )
                self._tell(f"{written[topic]:,} records in {topic}")
            else:
                kind, _, place = outputs.partition(":")
                frame = result[topic]
                frame.write.format(kind).mode("overwrite").save(f"{place}/{topic}")
                self._tell(f"{topic} in {place}/{topic}")
        return written

    def _looped_offsets(self) -> dict[TopicPartition, int]:
        """Return where topics that the topology writes and reads end: all of it is processed."""
        looped = [t for t in looped_topics(self._graph) if not self._live.is_internal(t)]
        parts = [(topic, number) for topic in looped for number in range(self._sizes[topic])]
        return self._admin.end_offsets(parts) if parts else {}

    def _clients(self) -> Clients:
        return Clients(
            producer_settings(self._config), consumer_settings(self._config, "restore"),
            self._log.topic, self._application,
        )  # fmt: skip


def _check_outputs(outputs: str, graph: Graph, sizes: Mapping[str, int]) -> None:
    kind, _, place = outputs.partition(":")
    if outputs not in (NO_OUTPUTS, TO_TOPICS) and not (kind in FILE_KINDS and place):
        raise InvalidArgumentError(
            "bad-outputs",
            f"outputs cannot go to {outputs!r}",
            fix=f"say {NO_OUTPUTS}, {TO_TOPICS}, or a place such as parquet:/lake/history; kinds"
            f" are {', '.join(FILE_KINDS)}",
        )
    if outputs == TO_TOPICS:
        for node in graph.nodes.values():
            topic = getattr(node, "topic", None)
            if topic is not None and topic not in graph.internal_topics and topic not in sizes:
                raise StreamsError(
                    "missing-topic",
                    f"output topic {topic!r} does not exist",
                    fix=f"create it: penstock topics create {topic}",
                )
