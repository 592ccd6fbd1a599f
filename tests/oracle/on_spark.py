"""Runs cases on real Spark and real Kafka: one session and one broker for all of them.

Every case is an application of its own; its topics carry its name as a prefix, which is taken
away again from whatever comes out. All inputs are there before it starts, so they come in as few
batches as there are topics on the way.
"""

from __future__ import annotations

import json
import re
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka import TopicPartition as KafkaPartition

import penstock as ps
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.embedded import EmbeddedBroker
from penstock.model.partitioning import partition_for
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.session import spark_session
from penstock.state.spec import StoreKind
from tests.oracle import options
from tests.oracle.build import build_topology
from tests.oracle.cases import Case
from tests.oracle.compare import Difference
from tests.oracle.report import Verdict, crash
from tests.oracle.run import Failure, Outcome, decoded, input_record, phase_of
from tests.oracle.spark_check import judge
from tests.oracle.staged import Staging, case_topics
from tests.oracle.stores import read_view

_ONE = Staging("all")
#: What an application can be asked for; the others belong to operators.
_QUERYABLE = frozenset(StoreKind) - {
    StoreKind.OUTER_JOIN,
    StoreKind.TIME_ORDERED_BUFFER,
    StoreKind.FOREIGN_KEY_SUBSCRIPTION,
}
#: Applications at a time, however few processors there are.
_JOBS = 6
_numbers = count(1)
#: Without letters: some cases look for those in the names of topics.
_RUN = uuid.uuid4().int % 1_000_000


#: Cases whose order only the test driver of Java fixes.
_BY_CHANCE = {
    "partition-group-ties": "four tasks write into one partition, in any order among each other",
}


def skip_reason(case: Mapping[str, Any]) -> str | None:
    """Gives why a case cannot be brought to a real broker, None if it can."""
    if "wall_clock" in json.dumps(case["topology"]):
        return "the wall clock of an application cannot be moved"
    text = json.dumps(case["topology"])
    if '"metadata"' in text and "len" in text:
        return "it measures the names of its topics, which are longer here"
    return _BY_CHANCE.get(case["name"])


#: A multiple of all window sizes of the cases.
_SHIFT_MS = 27_720_000_000
_FIXED_TIMES = (
    "timestamp_extractor", "metadata", "stream_time", "shift_ts", "commands", "unlimited", "dedup",
    "versioned", "window_start", "lookup", "start_ms",
)  # fmt: skip
#: Windows that overlap do not begin before time 0; later in time they do.
_OVERLAPPING = ("hopping", "sliding")


def shift_of(case: Mapping[str, Any]) -> int | None:
    """How much later the records of a case are written: Kafka's C client knows no time 0.

    None if the results would not only be later, but others.
    """
    times = [each["timestamp"] for each in case["inputs"] if "timestamp" in each]
    if all(time > 0 for time in times):
        return 0
    text = json.dumps([case["topology"], case.get("config", {})])
    if min(times) < 0 or any(word in text for word in (*_FIXED_TIMES, *_OVERLAPPING)):
        return None
    if '"windowed_by"' in text and "fmt" in text:
        # A window's bounds become part of a key or a value.
        return None
    return None if any("window" in each for each in case["inputs"]) else _SHIFT_MS


def _moved(case: Mapping[str, Any]) -> dict[str, Any]:
    """The same case later in time; its golden no longer tells its results."""
    return {**case, "inputs": [_later(each) for each in case["inputs"]]}


def _later(given: Mapping[str, Any]) -> Mapping[str, Any]:
    if "timestamp" not in given:
        return given
    later = {**given, "timestamp": given["timestamp"] + _SHIFT_MS}
    if "window" in given:
        later["window"] = {name: at + _SHIFT_MS for name, at in given["window"].items()}
    return later


def _shifted_back(record: dict[str, Any], shift_ms: int) -> dict[str, Any]:
    if not shift_ms:
        return record
    shifted = {**record, "timestamp": record["timestamp"] - shift_ms}
    if "window" in record:
        shifted["window"] = {name: at - shift_ms for name, at in record["window"].items()}
    return shifted


def check_on_spark(
    cases: Sequence[Case], layout: Staging | None = None, jobs: int = 0, master: str | None = None
) -> Iterator[Verdict]:
    """Starts a broker and a session, and gives a verdict per case, in any order.

    An application waits most of its time, for Kafka above all: several run beside each other.
    """
    jobs = jobs or _JOBS
    settings = {"application.id": "oracle", "spark.ui.enabled": "false"}
    threads = jobs * (layout or _ONE).slots
    settings["spark.master"] = master or f"local[{threads}]"
    with EmbeddedBroker() as broker, tempfile.TemporaryDirectory() as folder:
        session, _ = spark_session(ps.StreamsConfig(settings))
        cluster = Cluster(broker.bootstrap_servers, folder, layout)
        pool = ThreadPoolExecutor(jobs, "oracle")
        try:
            verdicts = [pool.submit(cluster.verdict, *each) for each in enumerate(cases)]
            for verdict in as_completed(verdicts):
                yield verdict.result()
        finally:
            pool.shutdown(cancel_futures=True)
            session.stop()


class Cluster:
    """A broker, the active Spark session, and a folder for state. Safe to share by threads.

    Args:
        layout: How many partitions every topic of a case has, and how many stream threads run.
    """

    def __init__(self, servers: str, state_dir: str, layout: Staging | None = None) -> None:
        self._servers = servers
        self._state_dir = state_dir
        self._layout = layout or _ONE
        self._admin = Admin({"bootstrap.servers": servers})
        # One request at a time: what is sent again keeps its place.
        self._producer = Producer(
            {"bootstrap.servers": servers, "linger.ms": 1, "max.in.flight": 1}
        )

    def verdict(self, index: int, case: Case) -> Verdict:
        """Runs a case and compares with its golden; if it is excepted, with a staged run."""
        skipped = skip_reason(case.data)
        if skipped is not None:
            return Verdict(index, (Difference("skipped", skipped),), skipped)
        has_golden = shift_of(case.data) is not None
        if not has_golden:
            case = replace(case, data=_moved(case.data))
        try:
            outcome = self.execute(case.data)
            return Verdict(index, *judge(case, outcome, self._layout, has_golden=has_golden))
        except Exception as error:  # noqa: BLE001
            return Verdict(index, (crash(error),))

    def execute(self, case: Mapping[str, Any]) -> Outcome:
        """Runs one case; every error of the library becomes the outcome's failure."""
        outcome = Outcome()
        application = f"{_RUN}-{next(_numbers)}"
        prefix = f"{application}__"
        plain = _Unprefixed(application, prefix)
        counts: dict[TopicPartition, int] = {}
        try:
            with phase_of(outcome, "build"):
                topology = build_topology(with_prefix(case, prefix), [])
                outcome.describe = str(topology.describe())
            topics = {prefix + topic: topic for topic in case_topics(case)}
            partitions = self._layout.partitions
            self._admin.create_topics(TopicSpec(name, partitions) for name in topics)
            counts = self._pipe(case, prefix)
            with phase_of(outcome, "run"):
                self._run(case, topology, application, outcome, plain)
        except KeyboardInterrupt:
            raise
        except Exception as error:  # noqa: BLE001
            outcome.failure = outcome.failure or Failure("read", error)
        if outcome.describe is not None:
            outcome.outputs = [
                plain(_shifted_back(decoded(case, record), shift_of(case) or 0))
                for record in self._read(topics, counts)
            ]
            self._remove(application)
        return outcome

    def _remove(self, application: str) -> None:
        """Deletes the topics of a case: every application asks the broker for all there are."""
        topics = self._admin.topics()
        self._admin.delete_topics([name for name in topics if name.startswith(application)])

    def _pipe(self, case: Mapping[str, Any], prefix: str) -> dict[TopicPartition, int]:
        """Writes all inputs; gives how many went to each partition."""
        counts: dict[TopicPartition, int] = {}
        errors: list[Any] = []
        shift_ms = shift_of(case) or 0
        # Records without a key go round, as in a staged run.
        around = count()
        for each in case["inputs"]:
            if "topic" not in each:
                continue
            topic, key, value, timestamp, headers = input_record(case, each)
            partitions = self._layout.partitions
            place = next(around) % partitions if key is None else partition_for(key, partitions)
            part = (prefix + topic, place)
            self._producer.produce(
                part[0], value, key, partition=place, timestamp=timestamp + shift_ms,
                headers=list(headers), on_delivery=lambda error, _: errors.append(error),
            )  # fmt: skip
            counts[part] = counts.get(part, 0) + 1
        assert self._producer.flush(30.0) == 0
        assert not any(errors), f"inputs could not be written: {errors}"
        return counts

    def _run(
        self,
        case: Mapping[str, Any],
        topology: ps.Topology,
        application: str,
        outcome: Outcome,
        plain: _Unprefixed,
    ) -> None:
        config = {
            **options.configuration(case),
            "application.id": application,
            "bootstrap.servers": self._servers,
            "state.dir": self._state_dir,
            "processing.guarantee": "exactly_once_v2",
            "commit.interval.ms": 10,
            "num.stream.threads": self._layout.slots,
        }
        streams = ps.KafkaStreams(topology, config)
        try:
            streams.start()
            assert streams.run_until_idle("300s"), "the application is not idle after five minutes"
            expected = case["golden"].get("stores", {})
            stores = topology.graph.stores.values()
            names = {plain(each.name): each.name for each in stores if each.kind in _QUERYABLE}
            names |= {plain(name): name for name in topology.graph.global_stores}
            outcome.stores = {
                name: plain(
                    read_view(
                        case, streams.store(names[name]), name, expected[name], shift_of(case) or 0
                    )
                )
                for name in expected
                if name in names
            }
        finally:
            with suppress(Exception):
                streams.close("60s")
                streams.clean_up()

    def _read(
        self, topics: Mapping[str, str], counts: Mapping[TopicPartition, int]
    ) -> Iterator[Any]:
        """Gives the committed records of topics, but for those that were piped into them."""
        parts = [(name, number) for name in topics for number in range(self._layout.partitions)]
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "oracle-reader",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                # The end of a topic is told when the broker has waited so long for more.
                "fetch.wait.max.ms": 20,
            }
        )
        consumer.assign([KafkaPartition(*part, counts.get(part, 0)) for part in parts])
        waiting = set(parts)
        try:
            while waiting:
                message = consumer.poll(120.0)
                assert message is not None, f"no answer while reading {waiting}"
                name, error = message.topic() or "", message.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    part = (name, message.partition() or 0)
                    _, high = consumer.get_watermark_offsets(KafkaPartition(*part), cached=True)
                    # What is written but not yet marked as committed is still to come.
                    if (message.offset() or 0) >= high:
                        waiting.discard(part)
                    continue
                yield SimpleNamespace(
                    topic=topics[name], key=message.key(), value=message.value(),
                    timestamp=message.timestamp()[1], headers=message.headers() or (),
                )  # fmt: skip
        finally:
            consumer.close()


class _Unprefixed:
    """Takes the application's name and prefix away from plain values."""

    def __init__(self, application: str, prefix: str) -> None:
        self._application = application
        self._prefix = prefix

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            # Some cases make their text upper-case.
            for prefix in (self._prefix, self._prefix.upper()):
                value = value.replace(prefix, "")
            return value.replace(self._application, "app")
        if isinstance(value, list):
            return [self(each) for each in value]
        if isinstance(value, dict):
            return {self(key): self(each) for key, each in value.items()}
        return value


def with_prefix(case: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Gives the case with every topic renamed."""
    return {**case, "topology": [_renamed(op, prefix) for op in case["topology"]]}


def _renamed(op: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    renamed = dict(op)
    if isinstance(op.get("topic"), str):
        renamed["topic"] = prefix + op["topic"]
    elif isinstance(op.get("topic"), list):
        renamed["topic"] = [prefix + topic for topic in op["topic"]]
    if "pattern" in op:
        renamed["pattern"] = re.escape(prefix) + op["pattern"]
    if "topic_extractor" in op:
        renamed["topic_extractor"] = f"prefixed:{prefix}:{op['topic_extractor']}"
    return renamed
