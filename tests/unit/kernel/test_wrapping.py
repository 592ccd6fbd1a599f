"""A wrapper around every node: what it sees, and what it may change.

Exercises ``kernel.executor``, ``kernel.wiring`` and ``processor.wrapper``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from penstock import (
    FixedKeyRecord,
    Processor,
    ProcessorWrapper,
    Record,
    StreamsBuilder,
)
from penstock.errors import ConfigError, StreamsError
from penstock.model.change import Change
from penstock.testing import TopologyTestDriver


class Log:
    """What the nodes of one run did."""

    def __init__(self) -> None:
        self.records: list[tuple[str, Any]] = []
        self.closed: list[str] = []
        self.configs: Mapping[str, Any] = {}


class Logged(Processor[Any, Any, Any, Any]):
    def __init__(self, name: str, inner: Any, log: Log) -> None:
        self._name, self._inner, self._log = name, inner, log

    def init(self, context: Any) -> None:
        self._inner.init(context)

    def process(self, record: Record[Any, Any]) -> None:
        self._log.records.append((self._name, record.value))
        self._inner.process(record)

    def close(self) -> None:
        self._log.closed.append(self._name)
        self._inner.close()


class Logging(ProcessorWrapper):
    def __init__(self, log: Log) -> None:
        self._log = log

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._log.configs = configs

    def wrap_processor_supplier(self, processor_name: str, processor_supplier: Any) -> Any:
        return lambda: Logged(processor_name, processor_supplier(), self._log)

    def wrap_fixed_key_processor_supplier(
        self, processor_name: str, processor_supplier: Any
    ) -> Any:
        return lambda: Logged(f"fixed {processor_name}", processor_supplier(), self._log)


def shout(record: FixedKeyRecord[str, str]) -> FixedKeyRecord[str, str]:
    return record.with_value(record.value.upper())


def test_every_node_is_counted_those_of_the_dsl_included() -> None:
    """One call per node and record; sources and sinks are not processors."""
    log, builder = Log(), StreamsBuilder()
    words = builder.stream("in").flat_map_values(str.split)
    counts = words.process_values(shout, name="shout").group_by(lambda _, word: word).count("n")
    counts.filter(lambda _, count: count > 1).to_stream().to("out", value="long")
    config = {"processor.wrapper.class": Logging(log), "app.setting": 7}
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.pipe("in", "a b a")
        assert driver.read_key_values("out")[-1] == ("A", 2)
    seen = Counter(name.rstrip("0123456789-") for name, _ in log.records)
    assert seen == {
        "KSTREAM-FLATMAPVALUES": 1, "fixed shout": 3, "KSTREAM-KEY-SELECT": 3,
        "n-repartition-filter": 3, "KSTREAM-AGGREGATE": 3, "KTABLE-FILTER": 3,
        "KTABLE-TOSTREAM": 1,
    }  # fmt: skip
    assert len(log.closed) == len(seen)
    assert log.configs["app.setting"] == 7


def test_nodes_of_tables_and_of_global_tables_are_wrapped_too() -> None:
    """A node behind a table is handed changes, as in Kafka Streams."""
    log, builder = Log(), StreamsBuilder()
    builder.global_table("names", materialized="names")
    builder.table("in", materialized="rows").map_values(str.upper).to_stream().to("out")
    with TopologyTestDriver(builder.build(), {"processor.wrapper.class": Logging(log)}) as driver:
        driver.pipe("names", ("k", "x"))
        driver.pipe("in", ("k", "a"))
        assert driver.read_values("out") == ["A"]
    values = {name.rstrip("0123456789-"): value for name, value in log.records}
    assert values["KTABLE-MAPVALUES"] == Change("a", None)
    assert [value for name, value in log.records if name.startswith("KTABLE-SOURCE")] == ["x", "a"]


def test_wrapper_sees_what_a_node_forwards() -> None:
    """Through the context that it hands to the inner processor, also where a node chooses."""
    forwards: list[tuple[Any, str | None]] = []

    class Watching:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def forward(self, record: Record[Any, Any], child: str | None = None) -> None:
            forwards.append((record.value, child))
            self._inner.forward(record.with_value(record.value + "!"), child)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    class Watch(Logged):
        def init(self, context: Any) -> None:
            super().init(Watching(context))

    class Wrapper(Logging):
        def wrap_processor_supplier(self, processor_name: str, processor_supplier: Any) -> Any:
            return lambda: Watch(processor_name, processor_supplier(), self._log)

    builder = StreamsBuilder()
    arms = builder.stream("in").map_values(str.upper).split("arms-")
    arms.branch(lambda _, value: value > "B", name="big").default_branch("small")["arms-big"].to(
        "out"
    )
    config = {"processor.wrapper.class": Wrapper(Log())}
    with TopologyTestDriver(builder.build(), config) as driver:
        driver.pipe("in", "c")
        assert driver.read_values("out") == ["C!!!"]
    assert [value for value, _ in forwards] == ["C", "C!", "C!!"]
    assert forwards[1][1] is not None


def test_wrapper_may_replace_a_node() -> None:
    """The original supplier need not be called."""

    class Reverse(Processor[Any, str, Any, str]):
        def process(self, record: Record[Any, str]) -> None:
            self.context.forward(record.with_value(record.value[::-1]))

    class Replacing(ProcessorWrapper):
        def wrap_processor_supplier(self, processor_name: str, processor_supplier: Any) -> Any:
            return Reverse if "MAPVALUES" in processor_name else processor_supplier

    builder = StreamsBuilder()
    builder.stream("in").map_values(str.upper).to("out")
    with TopologyTestDriver(builder.build(), {"processor.wrapper.class": Replacing}) as driver:
        driver.pipe("in", "abc")
        assert driver.read_values("out") == ["cba"]


def test_error_of_a_wrapped_node_names_the_node() -> None:
    """The wrapper is part of the node for whoever handles its failure."""
    builder = StreamsBuilder()
    builder.stream("in").map_values(int).to("out", value="long")
    config = {"processor.wrapper.class": Logging(Log())}
    with (
        TopologyTestDriver(builder.build(), config) as driver,
        pytest.raises(StreamsError, match=r"map_values at test_wrapping.*raised ValueError"),
    ):
        driver.pipe("in", "five")


def test_wrapper_that_returns_nothing_is_refused() -> None:
    """A method without a return is the likely slip."""

    class Forgetful(ProcessorWrapper):
        def wrap_processor_supplier(self, processor_name: str, processor_supplier: Any) -> Any:
            return None

    builder = StreamsBuilder()
    builder.stream("in").map_values(str.upper).to("out")
    with pytest.raises(StreamsError, match="returned None for node 'KSTREAM-MAPVALUES"):
        TopologyTestDriver(builder.build(), {"processor.wrapper.class": Forgetful})


@pytest.mark.parametrize("given", ["com.example.Wrapper", object, lambda: None])
def test_setting_must_be_a_wrapper(given: Any) -> None:
    """Found when the application is made, not with the first record."""
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    with pytest.raises(ConfigError, match=r"processor\.wrapper\.class"):
        TopologyTestDriver(builder.build(), {"processor.wrapper.class": given})


def test_wrapped_topology_runs_record_by_record() -> None:
    """Columns would pass the wrapper by; ``explain`` says so."""
    builder = StreamsBuilder()
    builder.stream("in").map_values(str.upper).to("out")
    topology = builder.build()
    why = topology.explain({"processor.wrapper.class": Logging(Log())})
    assert not why.is_vectorised
    assert "processor.wrapper.class takes records" in str(why)
