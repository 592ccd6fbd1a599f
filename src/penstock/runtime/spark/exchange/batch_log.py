"""The batch log: which driver leads, and where each task is.

Each application has one: a compacted topic with one partition. A driver that begins to lead takes
the next generation here. Each slot writes, inside its transaction, a marker per task. So, whichever
process dies, the next driver finds where every task has come to, and what has committed does not
run again.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as KafkaPartition

from penstock.errors import StreamsError
from penstock.kafka.clients import new_consumer, new_producer
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.exchange.stage_request import Skips

GENERATION_KEY = "generation"
CUT_KEY = "cut"
GLOBAL_ENDS_KEY = "global-ends"
#: The timestamp of every record of the log. A topic refuses records whose time is too far ahead of
#: the broker's clock, and the clock of a driver may be wrong. No reader uses the time.
LOG_TIME_MS = 1
_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Marker:
    """A record, written in a task's transaction, which proves that the task committed a stage."""

    batch: int
    clocks: Clocks
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    skips: Mapping[TopicPartition, Skips] = field(default_factory=dict)
    #: Where the task began to read in this batch. Without transactions, the group's offsets are
    #: committed a moment later: if they are still here, the positions of the marker count.
    began: Mapping[TopicPartition, int] = field(default_factory=dict)

    def to_json(self) -> bytes:
        skips = [[*part, offset, rows] for part, of in self.skips.items() for offset, rows in
                 of.items()]  # fmt: skip
        return json.dumps(
            {
                "batch": self.batch,
                "clocks": self.clocks,
                "positions": offset_rows(self.positions),
                "began": offset_rows(self.began),
                "skips": skips,
            }
        ).encode()

    @staticmethod
    def from_json(data: bytes) -> Marker:
        read = json.loads(data)
        skips: dict[TopicPartition, dict[int, int]] = {}
        for topic, number, offset, rows in read.get("skips", ()):
            skips.setdefault((topic, number), {})[offset] = rows
        positions = offsets_from(read.get("positions", []))
        began = offsets_from(read.get("began", []))
        return Marker(read["batch"], read["clocks"], positions, skips, began)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where every changelog stands at a moment at which all stores agree.

    Copies of stores apply changelogs up to the offsets of a cut and never stop in between.
    ``batch`` is the number of the cut.
    """

    generation: int
    batch: int
    #: The next offset of every changelog partition. A source topic may serve as a changelog.
    ends: Mapping[TopicPartition, int]
    global_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    #: By source partition: the offset up to which its records are part of this state.
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)

    def to_json(self) -> bytes:
        return json.dumps(
            {
                "generation": self.generation,
                "batch": self.batch,
                "ends": offset_rows(self.ends),
                "global_ends": offset_rows(self.global_ends),
                "positions": offset_rows(self.positions),
            }
        ).encode()

    @staticmethod
    def from_json(data: bytes) -> Cut:
        read = json.loads(data)
        return Cut(
            read["generation"],
            read["batch"],
            offsets_from(read["ends"]),
            offsets_from(read["global_ends"]),
            offsets_from(read["positions"]),
        )


@dataclass(frozen=True, slots=True)
class InstanceRecord:
    """One process that runs this ``application.id``: its addresses, and what it may do."""

    id: str
    pid: int
    #: The address at which other instances check that it is alive.
    host: str
    port: int
    #: ``application.server`` of the instance, where its HTTP server answers; may be empty.
    server: str
    started_ms: int
    #: Whether it may lead; one that only answers queries may not.
    may_lead: bool = True
    #: Whether it keeps copies of all stores while it does not lead.
    has_copies: bool = False
    #: Its ``client.tag.*`` settings, by name without the prefix.
    tags: Mapping[str, str] = field(default_factory=dict)
    #: Which machine ``host`` was written on: a loopback address means nothing on another one.
    machine: str = ""

    def to_json(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_json(data: bytes) -> InstanceRecord:
        known = {each.name for each in fields(InstanceRecord)}
        # An instance of a newer version may say more about itself.
        return InstanceRecord(**{k: of for k, of in json.loads(data).items() if k in known})


@dataclass(slots=True)
class LogState:
    """The content of the batch log, kept up to date record by record."""

    #: The last marker of each task in each stage.
    markers: dict[tuple[TaskId, int], Marker] = field(default_factory=dict)
    fingerprint: str | None = None
    #: What the stores of the plan mean, in the form that ``PlanFingerprint`` writes.
    plan_fingerprint: bytes | None = None
    #: The instances that were registered when an exception handler last asked to shut down all.
    shut_down: frozenset[str] = frozenset()
    #: The newest generation, the run that took it, and the most slots that any generation had.
    generation: int = 0
    run_id: str = ""
    slots: int = 0
    #: Whether any generation had transactions.
    had_transactions: bool = False
    #: The instance that leads with the newest generation.
    leader: str = ""
    #: By id: every instance that has registered and has not left.
    instances: dict[str, InstanceRecord] = field(default_factory=dict)
    cut: Cut | None = None
    #: By partition of a global topic: up to where the dead letters of its records are written.
    global_ends: dict[TopicPartition, int] = field(default_factory=dict)
    #: The cluster's id of each topic that the application reads or owns, by name.
    topic_ids: dict[str, str] = field(default_factory=dict)
    #: By name of a ``to_spark`` node: the batch and range that its function was last called with.
    sinks: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def newest_batch(self) -> int:
        """The largest number of a batch that any task has committed; -1 if none has."""
        return max((marker.batch for marker in self.markers.values()), default=-1)

    def done(self, batch: int, stage: int) -> dict[TaskId, Marker]:
        """Return the tasks that have committed this stage of this batch."""
        found = self.markers.items()
        return {t: marker for (t, s), marker in found if s == stage and marker.batch == batch}

    def clocks(self) -> dict[TaskId, Clocks]:
        """Return the clocks of every task after its last commit.

        A task that runs in several stages of a batch has its clocks from the last of them.
        """
        newest: dict[TaskId, tuple[int, int]] = {}
        clocks: dict[TaskId, Clocks] = {}
        for (task, stage), marker in self.markers.items():
            if newest.get(task, (-1, -1)) <= (marker.batch, stage):
                newest[task] = marker.batch, stage
                clocks[task] = marker.clocks
        return clocks

    def positions(self) -> dict[TopicPartition, int]:
        """Return the offset at which reading continues, for every partition.

        Each partition is read by one task in one stage.
        """
        return {part: at for part, (_, at) in self._newest_positions().items()}

    def began(self) -> dict[TopicPartition, int]:
        """Return where the newest batch of each partition began to read it."""
        found: dict[TopicPartition, int] = {}
        for part, (marker, _) in self._newest_positions().items():
            if part in marker.began:
                found[part] = marker.began[part]
        return found

    def _newest_positions(self) -> dict[TopicPartition, tuple[Marker, int]]:
        found: dict[TopicPartition, tuple[Marker, int]] = {}
        for marker in self.markers.values():
            for part, offset in marker.positions.items():
                if part not in found or found[part][0].batch <= marker.batch:
                    found[part] = marker, offset
        return found

    def skips(self) -> dict[TopicPartition, Skips]:
        """Return how much of the bundles after the positions has been processed already."""
        found: dict[TopicPartition, tuple[int, Skips]] = {}
        for marker in self.markers.values():
            for part in marker.positions:
                if found.get(part, (-1, {}))[0] <= marker.batch:
                    found[part] = marker.batch, marker.skips.get(part, {})
        return {part: skips for part, (_, skips) in found.items() if skips}

    def apply(self, key: str, value: bytes | str | None) -> None:
        """Update the state with one record of the log."""
        if value is None:
            if key.startswith("task/"):
                self.markers.pop(_place(key), None)
            elif key.startswith("instance/"):
                self.instances.pop(key.removeprefix("instance/"), None)
            return
        data = value.encode() if isinstance(value, str) else bytes(value)
        if key == "topology":
            self.fingerprint = data.decode()
        elif key == "plan-fingerprint":
            self.plan_fingerprint = data
        elif key == GENERATION_KEY:
            read = json.loads(data)
            self.generation, self.run_id = read["generation"], read["run"]
            self.slots = max(self.slots, read["slots"])
            self.leader = read.get("instance", "")
            self.had_transactions = self.had_transactions or read.get("exactly_once", False)
        elif key == CUT_KEY:
            cut = Cut.from_json(data)
            # A driver that was replaced may still write a cut. It must not win over a newer one.
            if self.cut is None or cut.generation >= self.cut.generation:
                self.cut = cut
        elif key == GLOBAL_ENDS_KEY:
            self.global_ends = offsets_from(json.loads(data))
        elif key.startswith("instance/"):
            self.instances[key.removeprefix("instance/")] = InstanceRecord.from_json(data)
        elif key == "shut-down":
            # The order in the log decides, not the clocks of several machines.
            self.shut_down = frozenset(self.instances)
        elif key == "topic-ids":
            self.topic_ids = json.loads(data)
        elif key.startswith("sink/"):
            self.sinks[key.removeprefix("sink/")] = json.loads(data)
        elif key.startswith("task/"):
            self.markers[_place(key)] = Marker.from_json(data)


class BatchLog:
    """The driver's access to the batch log; creating one fences the writes of older drivers."""

    def __init__(
        self,
        topic: str,
        consumer: Mapping[str, Any],
        producer: Mapping[str, Any],
        *,
        exactly_once: bool,
        timeout_s: float = 30.0,
    ) -> None:
        self.topic = topic
        self._consumer_config = dict(consumer)
        self._exactly_once = exactly_once
        self._timeout_s = timeout_s
        settings = dict(producer)
        if exactly_once:
            settings["transactional.id"] = leader_producer(topic)
        self._settings = settings
        self._producer = new_producer(settings)
        if exactly_once:
            self._producer.init_transactions(timeout_s)
        #: Held while records are written: threads of the driver write about different things.
        self._writing = threading.Lock()
        #: Writes records that do not need a transaction.
        self._notes = LogNotes(topic, producer)
        self.state = LogState()

    def read(self) -> LogState:
        """Read the whole log, and keep ``state`` up to date from then on."""
        self.state = read_log(self.topic, self._consumer_config)
        return self.state

    def renew(self) -> None:
        """Replace the producer after an error; the open transaction of the old one is aborted."""
        self._producer = new_producer(self._settings)
        if self._exactly_once:
            self._producer.init_transactions(self._timeout_s)

    def take_generation(self, slots: int, run_id: str, instance: str = "") -> int:
        """Write that this driver leads from now on, with how many slots; return its generation."""
        state = self.state
        state.generation, state.run_id = state.generation + 1, run_id
        state.leader = instance
        state.slots = max(state.slots, slots)
        state.had_transactions = state.had_transactions or self._exactly_once
        self._write_generation()
        return state.generation

    def note_slots(self, slots: int) -> None:
        """Write a larger number of slots, before the first of the new slots starts."""
        if slots > self.state.slots:
            self.state.slots = slots
            self._write_generation()

    def _write_generation(self) -> None:
        state = self.state
        told = {
            "generation": state.generation,
            "run": state.run_id,
            "slots": state.slots,
            "instance": state.leader,
            "exactly_once": state.had_transactions,
        }
        self._write(GENERATION_KEY, json.dumps(told).encode())

    def note_cut(self, cut: Cut) -> None:
        """Write a cut, up to which copies of stores may apply the changelogs.

        The call does not wait for delivery. A copy that misses this cut follows the next one.
        """
        self.state.cut = cut
        self._notes.put(CUT_KEY, cut.to_json())

    def note_sink(self, name: str, told: Mapping[str, Any]) -> None:
        """Write which rows the function of a ``to_spark`` node gets, or that it has got them."""
        self._write(f"sink/{name}", json.dumps(told).encode())
        self.state.sinks[name] = dict(told)

    def note_topics(self, ids: Mapping[str, str]) -> None:
        """Write the ids of the topics, so that a topic that was created again is noticed."""
        if dict(ids) != self.state.topic_ids:
            self._write("topic-ids", json.dumps(ids).encode())
            self.state.topic_ids = dict(ids)

    def note_shut_down(self, time_ms: int) -> None:
        """Write that all instances that have registered before must shut down."""
        self._write("shut-down", str(time_ms).encode())

    def set_topology(
        self,
        fingerprint: str,
        markers: Mapping[tuple[TaskId, int], Marker] | None = None,
        plan_fingerprint: bytes | None = None,
    ) -> None:
        """Write which topology this application runs, so that a changed topology is noticed.

        Args:
            markers: replace all markers in the log, which slots read; None keeps the markers.
            plan_fingerprint: describes what the stores mean; None keeps the one in the log.
        """
        rows: dict[str, bytes | None] = {"topology": fingerprint.encode()}
        if plan_fingerprint is not None:
            rows["plan-fingerprint"] = plan_fingerprint
        if markers is not None:
            rows |= {marker_key(*place): None for place in self.state.markers}
            rows |= {marker_key(*place): each.to_json() for place, each in markers.items()}
        self._write_all(rows, self._timeout_s)
        self.state.fingerprint = fingerprint
        self.state.plan_fingerprint = plan_fingerprint or self.state.plan_fingerprint
        self.state.markers = self.state.markers if markers is None else dict(markers)

    def _write(self, key: str, value: bytes, timeout_s: float | None = None) -> None:
        self._write_all({key: value}, self._timeout_s if timeout_s is None else timeout_s)

    def _write_all(self, rows: Mapping[str, bytes | None], timeout_s: float) -> None:
        with self._writing:
            if self._exactly_once:
                self._producer.begin_transaction()
            for key, value in rows.items():
                self._producer.produce(self.topic, value, key, partition=0, timestamp=LOG_TIME_MS)
            if self._exactly_once:
                self._producer.commit_transaction(timeout_s)
            elif self._producer.flush(timeout_s):
                raise _silent(self.topic)


class LogNotes:
    """Write log records that do not belong to a transaction, without waiting for delivery."""

    def __init__(self, topic: str, producer: Mapping[str, Any]) -> None:
        self._topic = topic
        self._settings = dict(producer)
        self._producer: Producer | None = None

    def put(self, key: str, value: bytes | None) -> None:
        """Queue a record; None as the value removes the key from the log."""
        if self._producer is None:
            self._producer = new_producer(self._settings)
        with contextlib.suppress(BufferError, KafkaException):
            self._producer.produce(self._topic, value, key, partition=0, timestamp=LOG_TIME_MS)
            self._producer.poll(0)

    def flush(self, timeout_s: float) -> None:
        """Wait at most ``timeout_s`` for the delivery of queued records."""
        if self._producer is not None:
            self._producer.flush(timeout_s)


def leader_producer(topic: str) -> str:
    """Return the transactional id with which the driver that leads writes to a batch log."""
    return f"{topic}-leader"


def marker_key(task: TaskId, stage: int) -> str:
    return f"task/{task}/{stage}"


def _place(key: str) -> tuple[TaskId, int]:
    _, task, stage = key.split("/")
    return TaskId.parse(task), int(stage)


def read_log(
    topic: str, consumer_settings: Mapping[str, Any], *, is_whole: bool = True
) -> LogState:
    """Read a batch log; it is compacted, so it stays short.

    An open transaction of another slot hides records that were committed after it began. So the
    call returns only when every transaction that was open has been committed or aborted.

    Args:
        is_whole: False returns what can be seen at once. A slot that was killed leaves a
            transaction open for up to ``transaction.timeout.ms``, unless a new producer fences it.
    """
    consumer = new_consumer(
        {
            **consumer_settings,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            # At the end of the log the broker holds its answer back for this long.
            "fetch.wait.max.ms": 10,
        }
    )
    state = LogState()
    deadline = time.monotonic() + _ANSWER_S
    try:
        part = KafkaPartition(topic, 0, 0)
        end = _end_of_log(topic, consumer_settings, is_whole=is_whole)
        consumer.assign([part])
        while True:
            message = consumer.poll(1.0)
            error = None if message is None else message.error()
            if message is not None and error is None:
                state.apply(bytes(message.key() or b"").decode(), message.value())
                deadline = time.monotonic() + _ANSWER_S
            elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                assert message is not None
                if (message.offset() or 0) >= end:
                    return state
            elif time.monotonic() > deadline:
                raise _silent(topic, error)
    finally:
        consumer.close()


def _end_of_log(topic: str, consumer_settings: Mapping[str, Any], *, is_whole: bool) -> int:
    """Ask the leader where the log ends: all of it, or what is committed.

    The end that comes with records is not enough. A new leader may not know yet that its last
    records are acknowledged, and sends none of them, while this question is answered only when it
    does.
    """
    level = "read_uncommitted" if is_whole else "read_committed"
    asking = new_consumer({**consumer_settings, "isolation.level": level})
    try:
        _, end = asking.get_watermark_offsets(KafkaPartition(topic, 0), _ANSWER_S)
    except KafkaException as error:
        raise _silent(topic, error.args[0]) from error
    finally:
        asking.close()
    return int(end)


def offset_rows(offsets: Mapping[TopicPartition, int]) -> list[list[Any]]:
    """Return offsets as rows of topic, partition and offset, since JSON has no pairs as keys."""
    return [[topic, number, at] for (topic, number), at in sorted(offsets.items())]


def offsets_from(rows: list[list[Any]]) -> dict[TopicPartition, int]:
    """Return the offsets that :func:`offset_rows` turned into rows."""
    return {(topic, number): at for topic, number, at in rows}


def _silent(topic: str, error: KafkaError | None = None) -> StreamsError:
    said = error.str() if error else f"no answer in {_ANSWER_S:.0f} s"
    return StreamsError(
        "batch-log",
        f"the batch log {topic!r} cannot be read or written: {said}",
        fix="check that the broker is up and that the topic has not been deleted",
    )
