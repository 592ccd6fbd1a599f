"""Runs a case in stages (``penstock.runtime.local.staged``), in batches of any size."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.runtime.local.memory_clients import InjectedFaultError
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.exchange.plan import Plan
from tests.oracle import options
from tests.oracle.build import build_topology
from tests.oracle.run import Failure, Outcome, decoded, input_record, phase_of, time_limit
from tests.oracle.stores import read_stores
from tests.pure_functions import declare_pure


@dataclass(frozen=True, slots=True)
class Staging:
    """How a case is cut into batches, laid out, and disturbed."""

    #: Records per batch: 1, "random", or "all".
    batches: str = "1"
    partitions: int = 1
    slots: int = 1
    #: After every batch: "" nothing, "restart", "lose" (state and all), "crash" (and run again),
    #: "fail" (some commit of every batch fails, before or after its effect).
    disturbance: str = ""
    seed: int = 0
    #: ``penstock.vectorize``.
    vectorize: str = "auto"

    def __str__(self) -> str:
        where = f"{self.partitions} partitions, {self.slots} slots, {self.batches} per batch"
        return f"{where}, {self.disturbance}" if self.disturbance else where


#: What ``--staged`` runs.
STAGINGS = (
    Staging("1"),
    Staging("random"),
    Staging("all"),
    Staging("random", disturbance="restart"),
    Staging("random", disturbance="lose"),
    Staging("random", disturbance="crash"),
    Staging("random", disturbance="fail"),
    Staging("1", partitions=4, slots=2),
    Staging("random", partitions=4, slots=2),
    Staging("random", partitions=4, slots=2, disturbance="fail"),
)
#: What ``--columns`` runs: all in one batch, and over several batches and partitions.
COLUMN_STAGINGS = (Staging("all"), Staging("random", partitions=2, slots=2))


@dataclass(slots=True)
class StagedOutcome(Outcome):
    """What a case made, and how it was laid out."""

    plan: Plan | None = None
    #: Batches of tasks that ran over columns.
    column_batches: int = 0


def execute_staged(case: Mapping[str, Any], staging: Staging, *, timeout_s: float) -> StagedOutcome:
    """Runs one case; every error of the library becomes the outcome's failure."""
    outcome = StagedOutcome()
    try:
        with time_limit(timeout_s):
            _execute(case, staging, outcome)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        outcome.failure = outcome.failure or Failure("read", error)
    return outcome


def _execute(case: Mapping[str, Any], staging: Staging, outcome: StagedOutcome) -> None:
    with phase_of(outcome, "build"):
        topology = build_topology(case, outcome.side_effects)
        if staging.vectorize == "strict":
            declare_pure(topology)
        outcome.describe = str(topology.describe())
    kafka = MemoryKafka(staging.partitions)
    for topic in case_topics(case):
        kafka.create(topic)
    with phase_of(outcome, "init"):
        config = options.configuration(case) | {"penstock.vectorize": staging.vectorize}
        application = StagedApplication(
            topology.graph, config, kafka, slots=staging.slots, seed=staging.seed
        )
        outcome.plan = application.plan
        run = _Run(case, staging, application, options.initial_wall_clock_ms(case))
        run.batch()
    try:
        try:
            run.all(outcome)
        finally:
            outcome.column_batches = application.column_batches
            outcome.outputs = [
                decoded(case, record)
                for record in kafka.committed
                if not record.topic.startswith("app-") and record not in run.piped
            ]
        # After a restart the stores are only there once a batch has run.
        application.run_batch(run.clock_ms)
        outcome.stores = read_stores(case, _Stores(application))
    finally:
        application.close()


def case_topics(case: Mapping[str, Any]) -> list[str]:
    """Gives every topic that a case reads or is known to write."""
    topics: dict[str, None] = {}
    for op in case["topology"]:
        named = op.get("topic")
        if isinstance(named, str | list):
            topics.update(dict.fromkeys([named] if isinstance(named, str) else named))
    topics.update(dict.fromkeys(each["topic"] for each in case["inputs"] if "topic" in each))
    outputs = case["golden"].get("outputs", [])
    topics.update(dict.fromkeys(each["topic"] for each in outputs))
    return list(topics)


class _Run:
    """Feeds the inputs of a case batch by batch."""

    def __init__(
        self,
        case: Mapping[str, Any],
        staging: Staging,
        application: StagedApplication,
        clock_ms: int,
    ) -> None:
        self.piped: set[Any] = set()
        self._case = case
        self._staging = staging
        self._application = application
        self.clock_ms = clock_ms
        self._random = random.Random(staging.seed)
        # Of its own, so that a disturbed run is cut into the same batches.
        self._chaos = random.Random(staging.seed + 1)
        self._nulls = 0

    def all(self, outcome: Outcome) -> None:
        for last, each in self._cut():
            with phase_of(outcome, "run", last):
                if isinstance(each, int):
                    self.clock_ms += each
                    self.batch()
                    self._until_idle()
                    continue
                for given in each:
                    self._append(given)
                self._until_idle()

    def _cut(self) -> Iterator[tuple[int, list[Mapping[str, Any]] | int]]:
        """Gives batches of inputs, or how far the clock moves, each with its last index."""
        waiting: list[Mapping[str, Any]] = []
        size = self._size()
        index = -1
        for index, each in enumerate(self._case["inputs"]):
            if "advance_wall_clock_ms" in each:
                if waiting:
                    yield index - 1, waiting
                    waiting = []
                yield index, int(each["advance_wall_clock_ms"])
                continue
            waiting.append(each)
            if len(waiting) >= size:
                yield index, waiting
                waiting, size = [], self._size()
        if waiting:
            yield index, waiting

    def _size(self) -> int:
        if self._staging.batches == "random":
            return self._random.randint(1, 6)
        return 1_000_000 if self._staging.batches == "all" else int(self._staging.batches)

    def _append(self, each: Mapping[str, Any]) -> None:
        topic, key, value, timestamp, headers = input_record(self._case, each)
        kafka, partition = self._application.kafka, None
        if key is None:
            partition = self._nulls % kafka.partitions_of(topic)
            self._nulls += 1
        kafka.append(topic, key, value, timestamp, headers, partition)
        self.piped.add(kafka.committed[-1])

    def _until_idle(self) -> None:
        while self._application.has_waiting():
            self.batch()

    def batch(self) -> None:
        application, disturbance = self._application, self._staging.disturbance
        if disturbance == "fail":
            self._failing_batch()
            return
        application.run_batch(self.clock_ms)
        if disturbance == "crash":
            application.crash(lose_state=self._chaos.random() < 0.5)
            application.run_again()
        elif disturbance in ("restart", "lose"):
            application.restart(lose_state=disturbance == "lose")

    def _failing_batch(self) -> None:
        application, kafka = self._application, self._application.kafka
        commits = application.plan.stages * application.slots
        wanted = kafka.commits + self._chaos.randrange(commits)
        when = self._chaos.choice(["before", "after"])
        kafka.fault = lambda number: when if number == wanted else None
        try:
            application.run_batch(self.clock_ms)
        except InjectedFaultError:
            application.crash(lose_state=self._chaos.random() < 0.3)
            application.run_again()
        finally:
            kafka.fault = lambda number: None


class _Stores:
    """Shows an application's stores as the test driver shows its own."""

    def __init__(self, application: StagedApplication) -> None:
        self._stores = application.stores()

    def state_store_names(self) -> list[str]:
        return list(self._stores)

    def get_state_store(self, name: str) -> Any:
        parts = self._stores[name]
        return parts[0] if len(parts) == 1 else _Union(parts)


class _Union:
    """The partitions of one store, read together."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts
        self.kind = parts[0].kind

    def all(self) -> Iterator[Any]:
        for part in self._parts:
            yield from part.all()

    def fetch_range(self, start: Any, end: Any) -> Iterator[Any]:
        for part in self._parts:
            yield from part.fetch_range(start, end)

    def get(self, key: Any, as_of: int) -> Any:
        found = (part.get(key, as_of) for part in self._parts)
        return next((each for each in found if each is not None), None)
