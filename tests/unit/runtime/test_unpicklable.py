"""What in an application cannot be pickled, and where it was written."""

from __future__ import annotations

import struct
import threading
from typing import Any

import pytest

from penstock import KafkaStreams, Processor, Record, Serde, StreamsBuilder, Topology
from penstock.errors import StreamsError
from penstock.runtime.spark.driver import pickling, streams
from penstock.runtime.spark.driver.pickling import packed
from penstock.runtime.spark.exchange.plan import make_plan
from penstock.runtime.spark.exchange.stage_request import Application

_LOCK = threading.Lock()
_PAIR = struct.Struct(">qq")


def _guarded(value: str) -> str:
    with _LOCK:
        return value


class _Guard(Processor[str, str, str, str]):
    def process(self, record: Record[str, str]) -> None:
        self.context.forward(record.with_value(_guarded(record.value)))


def _application(topology: Topology, config: dict[str, Any]) -> Application:
    plan = make_plan(topology.graph, {"in": 1})
    nothing: dict[str, Any] = {}
    return Application(
        id="app", plan=plan, config=config, state_dir="", exactly_once=False, consumer=nothing,
        restore_consumer=nothing, global_consumer=nothing, producer=nothing, admin=nothing,
        generation=1,
        run_id="r", batches_topic="b",
    )  # fmt: skip


def _refused(content: object) -> StreamsError:
    with pytest.raises(StreamsError) as caught:
        packed(content)
    assert caught.value.code == "not-portable"
    return caught.value


def test_a_function_that_cannot_travel_is_named_with_what_it_uses() -> None:
    """Pickle's own error has the type of an object, and neither its name nor a line."""
    lock = threading.Lock()
    builder = StreamsBuilder()
    builder.stream("in").map_values(lambda value: f"{value} {lock}").to("out")
    error = _refused(_application(builder.build(), {}))
    assert "node 'KSTREAM-MAPVALUES-0000000001'" in error.message
    assert "because of lock: cannot pickle '_thread.lock' object" in error.message
    assert str(error.at).startswith("test_unpicklable.py:")


def test_a_processor_is_looked_into_down_to_its_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The class uses a function, and the function a lock."""
    monkeypatch.setattr(pickling, "_stays", lambda module: module.__name__ == __name__)
    builder = StreamsBuilder()
    builder.stream("in").process(_Guard).to("out")
    error = _refused(_application(builder.build(), {}))
    assert "_guarded._LOCK: cannot pickle" in error.message


def test_a_setting_that_cannot_travel_is_named() -> None:
    """Handlers are functions, too."""
    lock = threading.Lock()
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    config = {"processing.exception.handler": lambda *_: lock}
    error = _refused(_application(builder.build(), config))
    assert "setting 'processing.exception.handler' cannot be sent" in error.message
    assert "because of lock" in error.message


class _PairSerde(Serde[tuple[int, int]]):
    """A serde over a ``struct.Struct`` of its module, as many programs have one."""

    def encode(self, value: tuple[int, int]) -> bytes:
        return _PAIR.pack(*value)

    def decode(self, data: bytes) -> tuple[int, int]:
        first, second = _PAIR.unpack(data)
        return first, second


def test_a_serde_that_cannot_travel_is_refused_before_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark needs seconds to start, and the program does not need it to be wrong."""
    started: list[object] = []
    monkeypatch.setattr(streams, "start_server", started.append)
    monkeypatch.setattr(streams, "spark_session", started.append)
    # As in a program's own module, which workers cannot import.
    monkeypatch.setattr(pickling, "_stays", lambda module: module.__name__ == __name__)
    builder = StreamsBuilder()
    builder.stream("in", value=_PairSerde()).to("out")
    application = KafkaStreams(builder.build(), {"application.id": "pairs"})
    with pytest.raises(StreamsError) as caught:
        application.start()
    assert caught.value.code == "not-portable"
    assert "_PAIR" in caught.value.message or "Struct" in caught.value.message
    assert str(caught.value.at).startswith("test_unpicklable.py:")
    assert started == []
