"""Processors: forwarding, stores, punctuation."""

from typing import Any

import pytest

from penstock import (
    Processor,
    PunctuationType,
    Record,
    Stores,
    StreamsBuilder,
    Topology,
    Window,
    Windowed,
)
from penstock.testing import TopologyTestDriver, rows
from tests.operators.driver import Driver


class Ticker(Processor[str, str, str, str]):
    """Forwards what it has seen when its clock says so."""

    kind = PunctuationType.STREAM_TIME

    def init(self, context: Any) -> None:
        self.seen: list[str] = []
        context.schedule("10s", self.kind, self.tick)

    def process(self, record: Record[str, str]) -> None:
        self.seen.append(record.value)

    def tick(self, now: int) -> None:
        self.context.forward(Record("seen", "".join(self.seen), now))


class WallTicker(Ticker):
    kind = PunctuationType.WALL_CLOCK_TIME


def ticking(processor: type[Ticker]) -> Topology:
    builder = StreamsBuilder()
    builder.stream("in").process(processor).to("out")
    return builder.build()


def test_stream_time_punctuation_follows_records(driver: Driver) -> None:
    """The first record fires it; after that once per interval that time has passed."""
    driver.start(ticking(Ticker))
    driver.pipe("in", "key | value | time\nk | a | 0:01\nk | b | 0:09\nk | c | 0:35\nk | d | 0:36")
    assert driver.read("out") == rows("""
        key  | value | time
        seen | a     | 0:01
        seen | abc   | 0:35   # one for all intervals that were missed
    """)


def test_wall_clock_punctuation_needs_no_records(driver: Driver) -> None:
    """TOP-10: it fires with no input at all, and records do not move it."""
    driver.start(ticking(WallTicker))
    driver.pipe("in", "key | value | time\nk | a | 9:00")
    assert driver.read("out") == []
    driver.advance("10s")
    assert driver.read("out") == rows("key | value | time\nseen | a | 0:10")


class AnchoredTicker(Ticker):
    """Ticks at five past every ten seconds."""

    def init(self, context: Any) -> None:
        self.seen = []
        context.schedule("10s", self.kind, self.tick, start_time=15_000)


class AnchoredWallTicker(AnchoredTicker):
    kind = PunctuationType.WALL_CLOCK_TIME


def test_anchored_stream_time_punctuation_waits_for_its_start(driver: Driver) -> None:
    """Due at the start time and at whole intervals from there, not with the first record."""
    driver.start(ticking(AnchoredTicker))
    driver.pipe("in", "key | value | time\nk | a | 0:14\nk | b | 0:24\nk | c | 0:25")
    assert driver.read("out") == rows("""
        key  | value | time
        seen | ab    | 0:24
        seen | abc   | 0:25
    """)


def test_anchored_wall_clock_punctuation_fires_on_its_grid(driver: Driver) -> None:
    """0:15, 0:25, …: however long the clock rested before."""
    driver.start(ticking(AnchoredWallTicker))
    driver.pipe("in", "key | value | time\nk | a | 9:00")
    for step in ("10s", "5s", "9s", "1s", "20s"):
        driver.advance(step)
    assert driver.read("out") == rows("""
        key  | value | time
        seen | a     | 0:15
        seen | a     | 0:25
        seen | a     | 0:45
    """)


def test_anchored_punctuation_whose_start_has_passed_is_due_at_once() -> None:
    """Then it goes on with the grid of its start."""
    with TopologyTestDriver(ticking(AnchoredWallTicker), initial_wall_clock=31_000) as inner:
        inner.pipe("in", "a")
        inner.advance_wall_clock_time(0)
        inner.advance_wall_clock_time("4s")
        assert [record.timestamp for record in inner.read_records("out")] == [31_000, 35_000]


def test_record_goes_to_the_child_that_is_named(driver: Driver) -> None:
    """And to all of them, in the order they were added, if none is."""

    class Sorter(Processor[str, str, str, str]):
        def process(self, record: Record[str, str]) -> None:
            self.context.forward(record, "even" if len(record.value) % 2 == 0 else None)

    topology = Topology().add_source("source", "in").add_processor("sorter", Sorter, "source")
    topology.add_sink("odd", "odd", "sorter").add_sink("even", "even", "sorter")
    driver.start(topology)
    driver.pipe("in", "key | value\nk | ab\nk | abc")
    assert driver.read("even") == rows("key | value\nk | ab\nk | abc")
    assert driver.read("odd") == rows("key | value\nk | abc")


@pytest.mark.parametrize(
    "supplier",
    [Stores.in_memory_session_store("s", "1h"), Stores.persistent_session_store("s", "1h")],
)
def test_processor_reads_sessions_backwards(driver: Driver, supplier: Any) -> None:
    """The newest session of a key comes first."""

    def newest(record: Record[str, str], context: Any) -> Record[str, str]:
        store = context.get_state_store("s")
        store.put(Windowed(record.key, Window(record.timestamp, record.timestamp)), record.value)
        found = [value for _, value in store.backward_fetch(record.key)]
        return record.with_value("".join(found))

    builder = StreamsBuilder()
    builder.add_state_store(Stores.session_store_builder(supplier, "string", "string"))
    builder.stream("in").process(newest, "s").to("out")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nk | b | 0:20\nk | a | 0:10\nk | c | 0:30")
    assert driver.read("out") == rows("key | value\nk | b\nk | ba\nk | cba")


def deduplicated(store: Any) -> Topology:
    """Forwards a key once per life of its row in the store."""

    def once(record: Record[str, str], context: Any) -> Record[str, str] | None:
        seen = context.get_state_store("seen")
        return record if seen.put_if_absent(record.key, record.value) is None else None

    builder = StreamsBuilder()
    builder.add_state_store(store)
    builder.stream("in").process(once, "seen").to("out")
    return builder.build()


SEEN = Stores.key_value_store_builder(Stores.persistent_key_value_store("seen"))


def test_row_past_its_ttl_is_gone(driver: Driver) -> None:
    """AW-10: by stream time, so also while batches are large; a tombstone is logged."""
    driver.start(deduplicated(SEEN.with_ttl("10s")))
    driver.pipe("in", "key | value | time\nk | a | 0:01\nk | b | 0:10\nk | c | 0:11\nx | d | 0:30")
    assert driver.read("out") == rows("key | value\nk | a\nk | c\nx | d")
    driver.pipe("in", "key | value | time\nx | e | 0:31")
    assert [key for key, _ in driver.store("seen").all()] == ["x"]
    changelog = [(r.key, r.value) for r in driver.inner.outputs() if "changelog" in r.topic]
    assert (b"k", None) in changelog


def test_row_past_its_ttl_by_the_wall_clock_is_gone(driver: Driver) -> None:
    """No record has to come for that."""
    driver.start(deduplicated(SEEN.with_ttl("10s", by_wall_clock=True)))
    driver.pipe("in", "key | value | time\nk | a | 9:00")
    driver.advance("9s")
    assert driver.store("seen").get("k") == "a"
    driver.advance("1s")
    assert driver.store("seen").get("k") is None
    changelog = [(r.key, r.value) for r in driver.inner.outputs() if "changelog" in r.topic]
    assert changelog == [(b"k", b"a"), (b"k", None)]


@pytest.mark.parametrize("value", ["b", "null"])
def test_store_remembers_between_records(driver: Driver, value: str) -> None:
    """A processor reads what it has written, at once."""

    def last(record: Record[str, str], context: Any) -> Record[str, str]:
        store = context.get_state_store("last")
        before = store.get(record.key)
        store.put(record.key, record.value)
        return record.with_value(f"{before} {record.value}")

    builder = StreamsBuilder()
    supplier = Stores.in_memory_key_value_store("last")
    builder.add_state_store(Stores.key_value_store_builder(supplier, "string", "string"))
    builder.stream("in").process(last, "last").to("out")
    driver.start(builder.build())
    driver.pipe("in", f"key | value\nk | a\nk | {value}\nk | c")
    middle, after = ("None", "None") if value == "null" else ("b", "b")
    assert driver.read("out") == rows(f"key | value\nk | None a\nk | a {middle}\nk | {after} c")


class Remembering(Processor[str, str, str, str]):
    """Puts every record into a window store."""

    def process(self, record: Record[str, str]) -> None:
        self.context.get_state_store("seen").put(record.key, record.value, record.timestamp)


@pytest.mark.parametrize("where", ["in_memory", "persistent"])
def test_record_too_old_for_a_window_store_is_counted(driver: Driver, where: str) -> None:
    """The store refuses it; the processor is not told, so the count is the only trace."""
    builder = StreamsBuilder()
    make = getattr(Stores, f"{where}_window_store")
    store = Stores.window_store_builder(make("seen", "10s", "1s"), "string", "string")
    builder.add_state_store(store)
    builder.stream("in").process(Remembering, "seen")
    driver.start(builder.build())
    driver.pipe("in", "key | value | time\nann | a | 10:00\nann | b | 9:55\nann | c | 0:01")
    assert driver.dropped() == {"expired-window": 1}
