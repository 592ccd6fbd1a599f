"""Running user-written processors."""

from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, StreamsError
from penstock.model.record import FixedKeyRecord, Record
from penstock.processor.context import PunctuationType
from penstock.processor.processor import FixedKeyProcessor, Processor
from penstock.processor.supplier import as_supplier
from penstock.topology.nodes import Process
from tests.unit.kernel.single_node import Forwarded, SingleNode

HEADERS = (("h", b""),)


def start(supplier: Any, *, children: tuple[str, ...] = (), fixed_key: bool = False) -> SingleNode:
    return SingleNode(
        Process(name="n", supplier=as_supplier(supplier), fixed_key=fixed_key), children=children
    )


def test_a_processor_lives_as_long_as_its_task() -> None:
    """init once, process per record, close at the end; the context is there before init."""
    calls: list[Any] = []

    class Recording(Processor[Any, Any, Any, Any]):
        def init(self, context: Any) -> None:
            calls.append(("init", context is self.context))

        def process(self, record: Record[Any, Any]) -> None:
            calls.append(record)

        def close(self) -> None:
            calls.append("close")

    node = start(Recording)
    node.pipe("k", "v", 7, HEADERS)
    node.executor.close()
    assert calls == [("init", True), Record("k", "v", 7, HEADERS), "close"]


def test_init_and_close_may_be_left_out() -> None:
    """Any object with a ``process`` method will do."""

    class Minimal:
        seen: list[Any] = []  # noqa: RUF012

        def process(self, record: Record[Any, Any]) -> None:
            self.seen.append(record.value)

    node = start(Minimal)
    node.pipe("k", "v", 0)
    node.executor.close()
    assert Minimal.seen == ["v"]


def test_a_supplier_that_makes_no_processor_is_refused() -> None:
    """A lambda that returns None is a common mistake."""
    with pytest.raises(InvalidArgumentError, match="returns None each time"):
        start(lambda: None)


def test_a_processor_without_process_fails_at_the_start() -> None:
    """Not at the first record, which may come much later."""
    with pytest.raises(
        StreamsError, match="returned an instance of Processor, which has no process"
    ):
        start(Processor)


def test_closing_before_the_start_is_harmless() -> None:
    """A task that fails while it starts closes what it has."""
    node = start(lambda record: None)
    executor = type(node.executor)(node.executor.node, node)
    executor.close()


def test_a_processor_forwards_what_and_as_often_as_it_wants() -> None:
    """Each record with its own key, time and headers; the record context moves along."""

    class Twice(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record.with_key("first"))
            self.context.forward(record.with_timestamp(99).with_headers(()))

    assert start(Twice).pipe("k", "v", 7, HEADERS) == [
        Forwarded("first", "v", 7, HEADERS),
        Forwarded("k", "v", 99, ()),
    ]


def test_a_failing_child_leaves_the_record_context_as_it_was() -> None:
    """Siblings that go on after a handled failure must not see the child's timestamp."""

    class Later(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record.with_timestamp(99))

    node = start(Later)

    def fail(*record: Any) -> None:
        raise RuntimeError("child")

    node.executor.forward = fail
    node.executor.init()
    with pytest.raises(RuntimeError, match="child"):
        node.pipe("k", "v", 7, HEADERS)
    assert (node.context.timestamp, node.context.headers) == (7, HEADERS)


@pytest.mark.parametrize(
    "function",
    [
        lambda record: record.with_value("new"),
        lambda record, context: context.forward(record.with_value("new")),
        lambda record: [record.with_value("new")],
    ],
)
def test_a_bare_function_is_a_processor(function: Any) -> None:
    """What it returns is forwarded; with a second parameter it gets the context."""
    assert start(function).pipe("k", "v", 7) == [Forwarded("k", "new", 7)]
    fixed = start(function, fixed_key=True)
    assert fixed.pipe("k", "v", 7) == [Forwarded("k", "new", 7)]


def test_a_processor_may_choose_among_its_children() -> None:
    """By the names of the nodes."""

    class Route(Processor[Any, Any, Any, Any]):
        def process(self, record: Record[Any, Any]) -> None:
            self.context.forward(record, record.value)

    node = start(Route, children=("a", "b"))
    assert [node.pipe("k", child, 0)[0].child for child in ("b", "a", "b")] == ["b", "a", "b"]
    with pytest.raises(StreamsError, match="no child 'c'; its children are: 'a', 'b'"):
        node.pipe("k", "c", 0)


def test_a_fixed_key_processor_gets_and_forwards_fixed_key_records() -> None:
    """A record with a key of its own is refused: no repartition follows this node."""

    class Changing(FixedKeyProcessor[Any, Any, Any]):
        def process(self, record: FixedKeyRecord[Any, Any]) -> None:
            assert isinstance(record, FixedKeyRecord)
            if record.value == "cheat":
                self.context.forward(Record("other", 1, 0))  # type: ignore[arg-type]
            self.context.forward(record.with_value("new"))

    node = start(Changing, fixed_key=True)
    assert node.pipe("k", "v", 7) == [Forwarded("k", "new", 7)]
    with pytest.raises(StreamsError, match="not a FixedKeyRecord") as caught:
        node.pipe("k", "cheat", 7)
    assert "use process() instead of process_values()" in (caught.value.fix or "")


def test_forwarding_something_else_than_a_record_says_so() -> None:
    """A forgotten with_value() is a common mistake."""
    with pytest.raises(StreamsError, match=r"forwards \('k', 1\), which is not a Record"):
        start(lambda record, context: context.forward(("k", 1))).pipe("k", "v", 0)


class Ticking(Processor[Any, Any, Any, Any]):
    """Forwards each tick of both clocks."""

    def init(self, context: Any) -> None:
        for kind in PunctuationType:
            context.schedule("10ms", kind, self._tick)

    def process(self, record: Record[Any, Any]) -> None:
        self.context.forward(record)

    def _tick(self, time: int) -> None:
        self.context.forward(Record("tick", self.context.record_metadata, time))


def test_a_punctuation_forwards_at_its_own_time_without_a_position() -> None:
    """Trap: topic None, partition and offset -1, no headers: no record is being processed."""
    node = start(Ticking)
    node.pipe("k", "v", 7, HEADERS)
    assert node.punctuate(7, PunctuationType.STREAM_TIME)
    key, position, timestamp, headers, _ = node.out[-1]
    assert (key, timestamp, headers) == ("tick", 7, ())
    assert (position.topic, position.partition, position.offset) == (None, -1, -1)


def test_stream_time_fires_with_the_first_record_and_wall_clock_after_its_interval() -> None:
    """Trap: the two kinds start differently."""
    node = start(Ticking)
    assert not node.punctuate(9, PunctuationType.WALL_CLOCK_TIME)
    assert node.punctuate(10, PunctuationType.WALL_CLOCK_TIME)
    assert node.punctuate(0, PunctuationType.STREAM_TIME)
    assert [f.timestamp for f in node.out] == [10, 0]
