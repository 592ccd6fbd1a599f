"""Measure point queries over HTTP: one server core with a RocksDB store, load from other cores.

The server is a process of its own, bound to one core where the system allows that. The load
generator keeps a number of connections busy, each with one request at a time, and notes when each
answer came.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import selectors
import socket
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from penstock import StreamsBuilder
from penstock.config import StreamsConfig
from penstock.model.metric import Metric
from penstock.model.partitioning import partition_for
from penstock.model.record import RecordContext
from penstock.model.versioned import ValueAndTimestamp
from penstock.runtime.spark.driver.observing.record_journeys import RecordJourneys
from penstock.serde.base import SerdeDefaults
from penstock.serde.serdes import Serdes
from penstock.serving.answering import StoreAnswers
from penstock.serving.application import (
    Answer,
    ChangeListener,
    Health,
    Instance,
    Location,
    Position,
    Role,
    Source,
    StoreInfo,
    Subscription,
)
from penstock.serving.options import ServerOptions
from penstock.serving.past.values import Changes, Commit
from penstock.serving.question import KeyQuestion, Question
from penstock.serving.server import ServingServer
from penstock.serving.status.values import ApplicationStatus, Program
from penstock.state.engine.rocks import open_rocks
from penstock.state.environment import StoreEnvironment
from penstock.state.open import open_store
from penstock.state.spec import StoreKind, StoreSpec
from penstock.topology.upgrades.fingerprint import PlanFingerprint

_PARTITIONS = 4
_TOPIC = "bench-counts-changelog"


@dataclass(frozen=True, slots=True)
class Figure:
    """One measurement; the client measures the milliseconds."""

    question: str
    connections: int
    requests: int
    per_second: float
    p50_ms: float
    p99_ms: float
    max_ms: float
    server_cpu: float

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class RocksReplica:
    """All partitions of one store in one process, as a replica has them."""

    application_id = "bench"
    instance_id = "bench-1"
    address = None

    def __init__(self, directory: Path, keys: int) -> None:
        self._here = Instance(id=self.instance_id, is_leader=True)
        self._location = Location(self._here)
        self._source = Source(Role.OWNER, self.instance_id)
        serde = Serdes.string()
        info = StoreInfo(
            name="counts", kind=StoreKind.TIMESTAMPED_KEY_VALUE, key_serde=serde,
            value_serde=Serdes.json(), partitions=_PARTITIONS, changelog=_TOPIC,
        )  # fmt: skip
        self._infos = {"counts": info}
        spec = StoreSpec(
            name="counts", kind=info.kind, key_serde=serde, value_serde=info.value_serde,
            logging=False,
        )  # fmt: skip
        stores = []
        for partition in range(_PARTITIONS):
            environment = StoreEnvironment(
                context=RecordContext(0, -1, -1, None),
                defaults=SerdeDefaults(serde, info.value_serde),
                engine=lambda name, at=partition: open_rocks(directory / str(at), name),  # type: ignore[misc]
                changelog=lambda name: None,
            )
            stores.append(open_store(spec, environment))
        _fill(stores, keys)
        self._answers = [StoreAnswers(store, serde, _TOPIC) for store in stores]
        self._positions = [{_TOPIC: {partition: keys}} for partition in range(_PARTITIONS)]

    def stores(self) -> Mapping[str, StoreInfo]:
        return self._infos

    def instances(self) -> Sequence[Instance]:
        return [self._here]

    def location(self, store: str, partition: int) -> Location:
        return self._location

    def read(
        self,
        store: str,
        partition: int,
        question: Question,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer:
        rows, has_more = self._answers[partition].answer(question)
        return Answer(rows, self._source, self._positions[partition], 0, has_more)

    def read_now(
        self,
        store: str,
        partition: int,
        question: KeyQuestion,
        *,
        allow_stale: bool = False,
        bound: Position | None = None,
    ) -> Answer | None:
        return self.read(store, partition, question)

    def health(self) -> Health:
        return Health(state="RUNNING", is_alive=True, is_ready=True)

    def subscribe(
        self, store: str, since: Mapping[int, int] | None, listener: ChangeListener
    ) -> Subscription:
        raise NotImplementedError("the benchmark has no changes")

    def topology(self) -> Mapping[str, Any]:
        return {}

    def topology_svg(self) -> str:
        return "<svg/>"

    def metrics(self) -> Sequence[Metric]:
        return []

    def status(self, *, is_watched: bool) -> ApplicationStatus:
        return ApplicationStatus(at_ms=time.time_ns() // 1_000_000, state="RUNNING")

    def journeys(self) -> RecordJourneys:
        return RecordJourneys(StreamsBuilder().build(), StreamsConfig())

    def plan(self) -> PlanFingerprint:
        return PlanFingerprint(())

    def dead_letters(self) -> None:
        return None

    def program(self) -> Program:
        return Program()

    def commits(self) -> Sequence[Commit]:
        return ()

    def changes(self, store: str, partition: int, start: int, end: int) -> Changes:
        raise NotImplementedError("the benchmark has no changes")

    def close(self) -> None:
        return None


def _fill(stores: Sequence[Any], keys: int) -> None:
    for number in range(keys):
        key = f"user-{number:07d}"
        value = {"count": number, "country": "DE", "amount": number / 4}
        part = partition_for(key.encode(), _PARTITIONS)
        stores[part].put(key, ValueAndTimestamp(value, 1_700_000_000_000 + number))


def _serve(directory: str, keys: int, core: int | None, pipe: Connection) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})
    with ServingServer(RocksReplica(Path(directory), keys), ServerOptions()) as server:
        pipe.send(server.port)
        while pipe.recv() == "cpu":
            pipe.send(time.process_time())


def measure_serving(keys: int, seconds: float, connections: int) -> list[Figure]:
    """Start the server, measure each kind of query, and stop the server."""
    context = multiprocessing.get_context("spawn")
    near, far = context.Pipe()
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    core = cores[0] if len(cores) > 1 else None
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        server = context.Process(target=_serve, args=(folder, keys, core, far), daemon=True)
        server.start()
        # Else a server that cannot start would be waited for without end.
        far.close()
        if core is not None:
            os.sched_setaffinity(0, set(cores[1:]))
        try:
            port = int(near.recv())
            point = [f"/stores/counts/user-{random.randrange(keys):07d}" for _ in range(20_000)]
            pages = [
                f"/stores/counts?limit=1000&from=user-{random.randrange(max(keys - 1000, 1)):07d}"
                for _ in range(200)
            ]
            load(port, _gets(point), connections, 1.0)
            return [
                _in_process(Path(folder, "here"), keys, seconds / 2),
                _measured("one key", near, port, point, connections, seconds),
                _measured("a page of 1,000 rows", near, port, pages, 4, seconds / 2),
            ]
        finally:
            near.send("stop")
            server.join(10)
            if core is not None:
                os.sched_setaffinity(0, set(cores))


def _in_process(directory: Path, keys: int, seconds: float) -> Figure:
    """Measure reads of the same store in a loop, without HTTP."""
    replica = RocksReplica(directory, keys)
    questions = [KeyQuestion(f"user-{random.randrange(keys):07d}") for _ in range(20_000)]
    parts = [partition_for(each.key.encode(), _PARTITIONS) for each in questions]
    clock, taken, number = time.perf_counter, [], 0
    began, began_cpu = clock(), time.process_time()
    while clock() - began < seconds:
        place = number % len(questions)
        since = clock()
        replica.read_now("counts", parts[place], questions[place])
        taken.append(clock() - since)
        number += 1
    elapsed, cpu = clock() - began, time.process_time() - began_cpu
    cuts = statistics.quantiles(taken, n=100)
    return Figure(
        "one key, in process", 1, number, round(number / elapsed, 1), round(cuts[49] * 1e3, 4),
        round(cuts[98] * 1e3, 4), round(max(taken) * 1e3, 2), round(cpu / elapsed, 2),
    )  # fmt: skip


def _measured(
    name: str, pipe: Connection, port: int, paths: list[str], connections: int, seconds: float
) -> Figure:
    before = _cpu(pipe)
    began = time.perf_counter()
    found = sorted(load(port, _gets(paths), connections, seconds))
    elapsed = time.perf_counter() - began
    cuts = statistics.quantiles(found, n=100)
    return Figure(
        name, connections, len(found), round(len(found) / elapsed, 1), round(cuts[49] * 1e3, 2),
        round(cuts[98] * 1e3, 2), round(found[-1] * 1e3, 2),
        round((_cpu(pipe) - before) / elapsed, 2),
    )  # fmt: skip


def _cpu(pipe: Connection) -> float:
    pipe.send("cpu")
    return float(pipe.recv())


def _gets(paths: Sequence[str]) -> list[bytes]:
    return [f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode() for path in paths]


def load(port: int, requests: list[bytes], connections: int, seconds: float) -> list[float]:
    """Keep the connections busy; return how long each answer took, in seconds."""
    selector = selectors.DefaultSelector()
    number, taken = 0, []
    clock = time.perf_counter
    try:
        for _ in range(connections):
            opened = socket.create_connection(("127.0.0.1", port))
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            waiting = _Waiting(clock())
            selector.register(opened, selectors.EVENT_READ, waiting)
            opened.sendall(requests[number % len(requests)])
            number += 1
        ends = clock() + seconds
        while clock() < ends:
            for ready, _ in selector.select(1.0):
                waiting = ready.data
                one: Any = ready.fileobj
                if not waiting.is_complete(one.recv(1 << 20)):
                    continue
                taken.append(clock() - waiting.since)
                waiting.since = clock()
                one.sendall(requests[number % len(requests)])
                number += 1
        return taken
    finally:
        for key in list(selector.get_map().values()):
            opened_again: Any = key.fileobj
            opened_again.close()
        selector.close()


class _Waiting:
    """An answer of which not all bytes have arrived."""

    def __init__(self, since: float) -> None:
        self.since = since
        self._missing = -1
        self._head = b""

    def is_complete(self, data: bytes) -> bool:
        if self._missing < 0:
            self._head += data
            at = self._head.find(b"\r\n\r\n")
            if at < 0:
                return False
            if not self._head.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"the server answered {self._head[:100]!r}")
            low = self._head[:at].lower()
            size = int(low.split(b"content-length:")[1].split(b"\r\n")[0])
            self._missing = size - (len(self._head) - at - 4)
        else:
            self._missing -= len(data)
        if self._missing > 0:
            return False
        self._missing, self._head = -1, b""
        return True
