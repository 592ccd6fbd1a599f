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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from types import SimpleNamespace
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

import penstock as ps
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.embedded import EmbeddedBroker
from penstock.runtime.spark.session import spark_session
from tests.oracle import options
from tests.oracle.build import build_topology
from tests.oracle.cases import Case
from tests.oracle.compare import Difference, compare
from tests.oracle.exceptions import reason_for
from tests.oracle.report import Verdict
from tests.oracle.run import Failure, Outcome, decoded, input_record, phase_of
from tests.oracle.staged import Staging, case_topics, execute_staged
from tests.oracle.staged_check import by_key, committed_differences
from tests.oracle.stores import read_view

_numbers = count(1)
_RUN = uuid.uuid4().hex[:6]


def skip_reason(case: Mapping[str, Any]) -> str | None:
    """Gives why a case cannot be brought to a real broker, None if it can."""
    if shift_of(case) is None:
        return "librdkafka writes no time 0, and the times of the case cannot all be shifted"
    if "wall_clock" in json.dumps(case["topology"]):
        return "the wall clock of an application cannot be moved"
    text = json.dumps(case["topology"])
    if '"metadata"' in text and "len" in text:
        return "it measures the names of its topics, which are longer here"
    return None


#: A multiple of all window sizes of the cases.
_SHIFT_MS = 27_720_000_000
_FIXED_TIMES = (
    "timestamp_extractor", "metadata", "stream_time", "shift_ts", "commands", "unlimited", "dedup",
    "versioned", "window_start", "lookup", "start_ms",
)  # fmt: skip
#: Windows that overlap do not begin before time 0; later in time they do.
_OVERLAPPING = ("hopping", "sliding")


def shift_of(case: Mapping[str, Any]) -> int | None:
    """How much later the records of a case are written: Kafka's C client knows no time 0."""
    times = [each["timestamp"] for each in case["inputs"] if "timestamp" in each]
    if all(time > 0 for time in times):
        return 0
    text = json.dumps([case["topology"], case.get("config", {})])
    if min(times) < 0 or any(word in text for word in (*_FIXED_TIMES, *_OVERLAPPING)):
        return None
    return None if any("window" in each for each in case["inputs"]) else _SHIFT_MS


def _shifted_back(record: dict[str, Any], shift_ms: int) -> dict[str, Any]:
    if not shift_ms:
        return record
    shifted = {**record, "timestamp": record["timestamp"] - shift_ms}
    if "window" in record:
        shifted["window"] = {name: at - shift_ms for name, at in record["window"].items()}
    return shifted


def check_on_spark(cases: Sequence[Case]) -> Iterator[Verdict]:
    """Starts a broker and a session, and gives a verdict per case."""
    settings = {"application.id": "oracle", "spark.ui.enabled": "false"}
    with EmbeddedBroker() as broker, tempfile.TemporaryDirectory() as folder:
        session, _ = spark_session(ps.StreamsConfig(settings))
        try:
            cluster = Cluster(broker.bootstrap_servers, folder)
            for index, case in enumerate(cases):
                yield cluster.verdict(index, case)
        finally:
            session.stop()


class Cluster:
    """A broker, the active Spark session, and a folder for state."""

    def __init__(self, servers: str, state_dir: str) -> None:
        self._servers = servers
        self._state_dir = state_dir
        self._admin = Admin({"bootstrap.servers": servers})
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 1})

    def verdict(self, index: int, case: Case) -> Verdict:
        """Runs a case and compares with its golden; if it is excepted, with a staged run."""
        skipped = skip_reason(case.data)
        if skipped is not None:
            return Verdict(index, (Difference("skipped", skipped),), skipped)
        outcome = self.execute(case.data)
        differences = _differences(case.golden, outcome)
        if not differences:
            return Verdict(index, ())
        # All inputs are there before the application starts: nothing cuts them into batches.
        piped = [each for each in case.data["inputs"] if "advance_wall_clock_ms" not in each]
        data = {**case.data, "inputs": piped}
        staged = execute_staged(data, Staging("all"), timeout_s=60.0)
        reason = reason_for(case.data, staged.plan, is_batched=True)
        if reason is None or "exception" in case.golden:
            return Verdict(index, tuple(differences), reason)
        golden = {"outputs": staged.outputs, "stores": staged.stores}
        return Verdict(index, tuple(_differences(golden, outcome)))

    def execute(self, case: Mapping[str, Any]) -> Outcome:
        """Runs one case; every error of the library becomes the outcome's failure."""
        outcome = Outcome()
        application = f"oracle-{_RUN}-{next(_numbers)}"
        prefix = f"{application}__"
        plain = _Unprefixed(application, prefix)
        try:
            with phase_of(outcome, "build"):
                topology = build_topology(with_prefix(case, prefix), [])
                outcome.describe = str(topology.describe())
            topics = {prefix + topic: topic for topic in case_topics(case)}
            self._admin.create_topics(TopicSpec(name) for name in topics)
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
                for name, topic in topics.items()
                for record in self._read(name, topic, counts.get(name, 0))
            ]
        return outcome

    def _pipe(self, case: Mapping[str, Any], prefix: str) -> dict[str, int]:
        """Writes all inputs; gives how many went to each topic."""
        counts: dict[str, int] = {}
        shift_ms = shift_of(case) or 0
        for each in case["inputs"]:
            if "topic" not in each:
                continue
            topic, key, value, timestamp, headers = input_record(case, each)
            name = prefix + topic
            self._producer.produce(
                name, value, key, partition=0, timestamp=timestamp + shift_ms,
                headers=list(headers),
            )  # fmt: skip
            counts[name] = counts.get(name, 0) + 1
        assert self._producer.flush(30.0) == 0
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
        }
        streams = ps.KafkaStreams(topology, config)
        try:
            streams.start()
            assert streams.run_until_idle("300s"), "the application is not idle after five minutes"
            expected = case["golden"].get("stores", {})
            names = {plain(name): name for name in topology.graph.stores}
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

    def _read(self, name: str, topic: str, piped: int) -> Iterator[Any]:
        """Gives the committed records of a topic, but for those that were piped into it."""
        consumer = Consumer(
            {
                "bootstrap.servers": self._servers,
                "group.id": "oracle-reader",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(name, 0, piped)])
        try:
            while True:
                message = consumer.poll(30.0)
                assert message is not None, f"no answer while reading {name}"
                error = message.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    return
                yield SimpleNamespace(
                    topic=topic, key=message.key(), value=message.value(),
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
            return value.replace(self._prefix, "").replace(self._application, "app")
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


def _differences(golden: Mapping[str, Any], outcome: Outcome) -> list[Difference]:
    expected = golden.get("exception")
    if expected is not None:
        # Spark carries errors as text, and the first batch is where a task is made.
        if outcome.failure is None:
            return [Difference("exception", f"expected {expected['class']}, none raised")]
        wanted, found = by_key(golden.get("outputs", [])), by_key(outcome.outputs or [])
        wrong = [k for k, each in found.items() if wanted.get(k, [])[: len(each)] != each]
        return [Difference("outputs", f"{key} is no part of the golden") for key in wrong]
    if outcome.failure is not None:
        return compare(golden, outcome, ("exception",))
    differences = committed_differences(golden.get("outputs"), outcome.outputs)
    return differences + _store_differences(golden.get("stores") or {}, outcome.stores or {})


def _store_differences(
    expected: Mapping[str, Mapping[str, Any]], got: Mapping[str, list[Any] | None]
) -> Iterable[Difference]:
    found = []
    for name, wanted in expected.items():
        if "entries" not in wanted or got.get(name) is None:
            continue
        values = [without_timestamp(wanted["kind"], entry) for entry in wanted["entries"]]
        if json.dumps(values) != json.dumps(got[name]):
            text = f"store {name!r}\n  expected {values}\n       got {got[name]}"
            found.append(Difference("stores", text))
    return found


def without_timestamp(kind: str, entry: list[Any]) -> list[Any]:
    """Queries give values without the timestamps that stores keep beside them."""
    return entry[:-1] if kind.startswith("timestamped") else entry
