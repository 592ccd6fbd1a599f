"""All that lanes of an application share, over fakes: Kafka is a map, slots are functions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

import penstock as ps
from penstock.errors import PenstockError
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.topic_partition import TopicPartition
from penstock.runtime.spark.driver.changes.made_anew import MadeAnew
from penstock.runtime.spark.driver.internal_positions import InternalPositions
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.driver.lanes.gate import Gate, Turn
from penstock.runtime.spark.driver.lanes.lane import Lane
from penstock.runtime.spark.driver.lanes.lane_inputs import InputSettings
from penstock.runtime.spark.driver.lanes.shared import Numbers, Pace, Shared
from penstock.runtime.spark.driver.lanes.stops import Stops
from penstock.runtime.spark.exchange.batch_log import LogState
from penstock.runtime.spark.exchange.plan import Plan, make_plan
from penstock.runtime.spark.exchange.stage_request import Limits, Report, StageRequest

#: What a slot does with a request: returns reports, or raises.
Answer = Callable[[int, StageRequest], list[Report]]
Program = Callable[[ps.StreamsBuilder], None]

LIMITS = Limits(64 * 1024 * 1024, 10.0)
TASK_TIMEOUT_S = 300.0


def one_stage(builder: ps.StreamsBuilder) -> None:
    builder.stream("in").to("out")


def two_stages(builder: ps.StreamsBuilder) -> None:
    """Tasks of the first stage write to ``words-repartition``, those of the second read it."""
    grouped = builder.stream("in").group_by(lambda key, value: value, ps.Grouped(name="words"))
    grouped.count("counts")


def with_table(builder: ps.StreamsBuilder) -> None:
    table = builder.global_table("prices")
    stream = builder.stream("in")
    stream.join(table, lambda left, right: right, key=lambda key, value: key).to("out")


class Scheduling(ps.Processor):
    def process(self, record: Any) -> None: ...


def scheduled(builder: ps.StreamsBuilder) -> None:
    builder.stream("in").process(Scheduling).to("out")


def plan_of(program: Program, partitions: int) -> Plan:
    builder = ps.StreamsBuilder()
    program(builder)
    graph = builder.build({"topology.optimization": "all"}).graph
    sizes = {"in": partitions} | {table.topic: 1 for table in graph.global_stores.values()}
    return make_plan(graph, sizes)


class Cluster:
    """Where topics end."""

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}

    def end_offsets(
        self, parts: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        return {part: self.ends.get(part, 0) for part in parts}

    def begin_offsets(self, parts: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(parts, 0)

    def offsets_at(
        self, partitions: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        return {part: min(time_ms, self.ends.get(part, 0)) for part in partitions}


class Clock:
    """The time that lanes see; it goes on only when a test says so."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def monotonic(self) -> float:
        return self.now_s

    def time_ns(self) -> int:
        return 0


class World:
    """An application whose lanes run one step at a time, or in threads of their own."""

    def __init__(
        self,
        program: Program = one_stage,
        *,
        partitions: int = 1,
        slots: int = 1,
        exactly_once: bool = True,
        state: LogState | None = None,
        **given: Any,
    ) -> None:
        self.plan = plan_of(program, partitions)
        self.cluster = Cluster()
        self.slots = slots
        #: What slots do with requests; the standard is that they process everything.
        self.answer: Answer = self.processed
        self.asked: list[tuple[int, StageRequest]] = []
        self.warmed: list[tuple[int, StageRequest]] = []
        #: Set when ``asked`` has become longer.
        self.changed = threading.Condition()
        self.fenced: list[int] = []
        self.committed: list[Mapping[TopicPartition, int]] = []
        self.refusal: Exception | None = None
        self.errors: list[tuple[int | None, PenstockError]] = []
        self.turns: list[bool] = []
        self.away: set[TopicPartition] = set()
        self.cut = -1
        self.positions = {("in", number): 0 for number in range(partitions)}
        self.internal = InternalPositions(
            self.plan, cast("Any", self.cluster),
            lambda topic: f"app-{topic}" if self.plan.is_internal(topic) else topic, {}, {}, 1e9,
        )  # fmt: skip
        self.gate = Gate()
        application: Any = SimpleNamespace(
            id="app", plan=self.plan, generation=3, exactly_once=exactly_once
        )
        self.accounts = Accounts(
            application, state or LogState(), self.positions, self.internal, MadeAnew()
        )
        self.shared = self._shared(application, given)
        self.lanes = [Lane(number, slots, self.shared) for number in range(slots)]
        self.gate.has_leftover = lambda: any(lane.has_leftover() for lane in self.lanes)

    def _shared(self, application: Any, given: dict[str, Any]) -> Shared:
        parts = {"in", *(store.topic for store in self.plan.graph.global_stores.values())}
        standard: dict[str, Any] = {
            "application": application,
            "pace": Pace(
                interval_s=given.pop("interval_s", 1 / 1024),
                backoff_s=0.001,
                task_timeout_s=TASK_TIMEOUT_S,
                limits=LIMITS,
            ),
            "gate": self.gate,
            "ends": SimpleNamespace(fresh=self.fresh_ends),
            "stops": Stops(self.positions, self.gate.changed),
            "offsets": self.cluster,
            "inputs": InputSettings(max_records=10, read_committed=False),
            "positions": self.positions,
            "internal": self.internal,
            "tables": frozenset((topic, 0) for topic in parts - {"in"}),
            "accounts": self.accounts,
            "asking": self,
            "owners": SimpleNamespace(owners=dict),
            "member": self,
            "watch": SimpleNamespace(over_stage=lambda slot, request: contextlib.nullcontext()),
            "numbers": Numbers(6),
            "fence": self.fenced.append,
            "report": lambda lane, error: self.errors.append((lane, error)),
            "committed": self.turns.append,
            "troubled": lambda: None,
            "seconds_left": lambda: 60.0,
            "newest_cut": lambda: self.cut,
            "is_paused": threading.Event(),
            "closing": threading.Event(),
        }
        return Shared(**{**standard, **given})

    # What lanes ask

    def fresh_ends(self) -> dict[TopicPartition, int]:
        parts = {*self.positions, *self.shared.tables} - self.away
        return self.cluster.end_offsets(parts)

    def run(self, slot: int, request: StageRequest) -> list[Report]:
        with self.changed:
            self.asked.append((slot, request))
            self.changed.notify_all()
        return self.answer(slot, request)

    def warm_up(self, slot: int, request: StageRequest) -> None:
        self.warmed.append((slot, request))

    def check(self) -> None: ...

    def metadata(self) -> bytes:
        return b"member"

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.committed.append(offsets)

    # What slots answer

    def processed(self, slot: int, request: StageRequest) -> list[Report]:
        """Process all that a stage may read; the first one writes as many records as it reads."""
        return list(self.reports(slot, request))

    def reports(self, slot: int, request: StageRequest) -> Iterator[Report]:
        for run in self.plan.runs_of(request.stage):
            for number in {number for topic, number in request.ranges if topic in run.topics}:
                spans = {p: span for p, span in request.ranges.items() if p[1] == number}
                records = sum(end - start for start, end in spans.values())
                yield Report(
                    task=TaskId(run.subtopology, number), stage=request.stage, slot=slot,
                    records=records, clocks=Clocks(),
                    positions={part: end for part, (_, end) in spans.items()},
                    written=self.written(request.stage, number, records),
                )  # fmt: skip

    def written(self, stage: int, number: int, records: int) -> dict[TopicPartition, int]:
        if stage + 1 >= self.plan.stages or not records:
            return {}
        topic = self.plan.internal_of(stage + 1)[0][0]
        at = self.cluster.ends.get((f"app-{topic}", number), 0) + records
        self.cluster.ends[f"app-{topic}", number] = at
        return {(topic, number): at}

    # What tests do

    def send(self, **records: int) -> None:
        """Add records to partitions: ``send(in_2=5)``."""
        for name, count in records.items():
            topic, _, number = name.rpartition("_")
            part = topic or name, int(number or 0)
            self.cluster.ends[part] = self.cluster.ends.get(part, 0) + count

    def step(self, lane: int = 0, turn: Turn = Turn.ANY) -> list[StageRequest]:
        """Let a lane take one turn; return what it has asked its slot."""
        before = len(self.asked)
        self.lanes[lane]._take(turn)
        self.gate.end_turn(lane)
        return [request for _, request in self.asked[before:]]

    def due_s(self, lane: int = 0, turn: Turn = Turn.ANY) -> float | None:
        return self.lanes[lane]._due_s(turn)

    def quiet(self) -> None:
        """Let every lane create its tasks, so that only what a test does makes batches."""
        for lane in range(self.slots):
            self.step(lane)
        self.asked.clear()

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Let all lanes run in threads of their own inside the ``with`` block."""
        threads = [threading.Thread(target=lane.run, daemon=True) for lane in self.lanes]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.gate.end()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()

    def wait_for(self, is_true: Callable[[], bool]) -> None:
        """Wait until something is true that changes when slots are asked, or soon after."""
        with self.changed:
            for _ in range(3_000):
                if is_true():
                    return
                self.changed.wait(0.01)
        raise AssertionError("it has not happened in 30 s")
