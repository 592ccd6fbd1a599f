"""One record runs beside an application, and every node and store says what it did.

Exercises ``journey.node_trace``, ``journey.watched_stores`` and ``journey.snapshot``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.config import StreamsConfig
from penstock.runtime.local.journey.sandbox import Sandbox
from penstock.serving.application import Row
from penstock.serving.journey.values import Rows, Step, TopicRecord, Trace
from penstock.sql import SqlEngine
from penstock.testing import TopologyTestDriver

CONFIG = {
    "application.id": "app",
    "default.key.serde": "string",
    "default.value.serde": "json",
    "statestore.cache.max.bytes": 0,
}


@dataclass
class State:
    """Rows by store and key; what is asked for is noted."""

    rows: dict[str, dict[Any, list[Row]]] = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()
    asked: list[tuple[str, Any]] = field(default_factory=list)

    def of_key(self, store: str, key: Any) -> Rows:
        self.asked.append((store, key))
        if store in self.unknown:
            return Rows(why="it was compacted away")
        return Rows(rows=self.rows.get(store, {}).get(key, []))

    def some(self, store: str) -> Rows:
        found = [row for rows in self.rows.get(store, {}).values() for row in rows]
        return Rows(rows=found[:2], has_more=len(found) > 2)


def record(value: Any, key: str | None = "a", time: int = 1_000, topic: str = "in") -> TopicRecord:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return TopicRecord(
        topic=topic, partition=0, offset=7, timestamp=time,
        key=None if key is None else key.encode(), value=data,
    )  # fmt: skip


def run(
    topology: ps.Topology,
    last: TopicRecord,
    state: State | None = None,
    before: Iterable[TopicRecord] = (),
    **config: Any,
) -> Trace:
    sandbox = Sandbox(topology, StreamsConfig({**CONFIG, **config}))
    return sandbox.run([*before], last, state or State())


def plain(raw: Any) -> Any:
    return json.loads(bytes(raw))


def named(trace: Trace, node: str) -> Step:
    (found,) = [step for step in trace.steps if step.node == node]
    return found


def accesses(trace: Trace) -> list[tuple[Any, ...]]:
    return [
        (each.operation, each.store, plain(each.key), plain(each.value),
         None if each.before is None else plain(each.before), each.window_start)
        for step in trace.steps for each in step.accesses
    ]  # fmt: skip


def test_every_node_has_its_input_and_where_it_came_from() -> None:
    """Depth first; each step names the one that forwarded to it."""
    builder = ps.StreamsBuilder()
    big = builder.stream("in").filter(lambda _, v: v > 1, name="big")
    big.map_values(lambda v: v * 2, name="double").to("out")
    big.map_values(lambda v: -v, name="negative")
    trace = run(builder.build(), record(4))
    told = [(step.node, step.parent, plain(step.value), step.forwarded) for step in trace.steps]
    assert told == [
        ("KSTREAM-SOURCE-0000000000", None, 4, 1), ("big", 0, 4, 2), ("double", 1, 4, 0),
        ("negative", 1, 4, 0),
    ]  # fmt: skip
    (sent,) = named(trace, "double").sent
    assert (sent.topic, plain(sent.value), sent.is_internal) == ("out", 8, False)
    stopped = run(builder.build(), record(1))
    assert (named(stopped, "big").forwarded, len(stopped.steps)) == (0, 2)


def counts() -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream("in").group_by(lambda _, v: v["of"], name="by-of").count("counts")
    return builder.build()


def test_a_store_is_read_from_the_application_when_a_node_asks() -> None:
    """Only the row that is needed; a write has the value before and after."""
    state = State({"counts": {"x": [Row("x", 41, 5)], "y": [Row("y", 1, 5)]}})
    trace = run(counts(), record({"of": "x"}), state)
    assert state.asked == [("counts", "x")]
    assert accesses(trace) == [
        ("read", "counts", "x", 41, None, None), ("write", "counts", "x", 42, 41, None),
    ]  # fmt: skip
    assert [step.node for step in trace.steps if step.parent is None] == [
        "KSTREAM-SOURCE-0000000000", "by-of-repartition-source",
    ]  # fmt: skip
    assert any(each.is_internal for step in trace.steps for each in step.sent)


def test_records_that_came_before_are_run_first_and_not_shown() -> None:
    """They change the state that the record finds."""
    state = State({"counts": {"x": [Row("x", 1, 5)]}})
    trace = run(counts(), record({"of": "x"}), state, [record({"of": "x"})] * 2)
    assert [each[3:5] for each in accesses(trace) if each[0] == "write"] == [(4, 3)]
    assert trace.steps[0].id == 0


def test_windows_of_a_key_are_fetched_with_it() -> None:
    """A record adds to its window, whose start is told."""
    builder = ps.StreamsBuilder()
    windows = ps.TimeWindows.of_size("1s").grace("1s")
    builder.stream("in").group_by_key().windowed_by(windows).count("per-second")
    rows = [Row("a", 3, 1_500, 1_000, 2_000), Row("a", 9, 500, 0, 1_000)]
    trace = run(builder.build(), record(0, time=1_700), State({"per-second": {"a": rows}}))
    assert ("write", "per-second", "a", 4, 3, 1_000) in accesses(trace)
    assert any("closed already" in note for note in trace.notes)


def test_sessions_of_a_key_are_merged() -> None:
    """The old session is taken away, and the longer one is written."""
    builder = ps.StreamsBuilder()
    gap = ps.SessionWindows.of_inactivity_gap_and_grace("1s", "1s")
    builder.stream("in").group_by_key().windowed_by(gap).count("visits")
    rows = [Row("a", 2, None, 100, 900)]
    trace = run(builder.build(), record(0, time=1_500), State({"visits": {"a": rows}}))
    told = accesses(trace)
    assert ("remove", "visits", "a", None, 2, 100) in told
    assert ("put", "visits", "a", 3) in [each[:4] for each in told]


class Remember(ps.Processor[str, Any, str, Any]):
    def init(self, context: ps.ProcessorContext[str, Any]) -> None:
        self.context, self.store = context, context.get_state_store("seen")

    def process(self, record: ps.Record[str, Any]) -> None:
        self.store[record.key] = {"n": record.value}
        self.store.put_if_absent("other", {"n": 0})
        del self.store[record.key]
        assert record.key not in self.store
        with self.store.all() as rows:
            self.context.forward(record.with_value(len([*rows])))


def test_a_processor_uses_its_store_as_ever() -> None:
    """Also with the operators of a dictionary, and with scans, which see the first rows."""
    builder = ps.StreamsBuilder()
    builder.add_state_store(
        ps.Stores.key_value_store_builder(
            ps.Stores.in_memory_key_value_store("seen"), ps.Serdes.string(), ps.Serdes.json()
        )
    )
    builder.stream("in").process(Remember, "seen", name="remember").to("out")
    rows = {key: [Row(key, {"n": 1})] for key in ("a", "k1", "k2", "k3")}
    trace = run(builder.build(), record(5), State({"seen": rows}))
    operations = [each[:5] for each in accesses(trace)]
    assert operations[:3] == [
        ("put", "seen", "a", {"n": 5}, {"n": 1}),
        ("put_if_absent", "seen", "other", {"n": 0}, None),
        ("delete", "seen", "a", None, {"n": 5}),
    ]
    assert any("only the first 2 rows" in note for note in trace.notes)
    assert named(trace, "remember").sent[0].topic == "out"


def test_what_is_not_known_is_said() -> None:
    """A value that was compacted away, and stores that cannot be read."""
    trace = run(counts(), record({"of": "x"}), State(unknown=frozenset({"counts"})))
    assert not trace.steps[-1].accesses[0].is_known
    assert any("compacted away" in note for note in trace.notes)
    builder = ps.StreamsBuilder()
    windows = ps.JoinWindows.of_time_difference_with_no_grace("1s")
    left, right = builder.stream("in"), builder.stream("right")
    left.left_join(right, lambda a, b: [a, b], windows).to("out")
    notes = run(builder.build(), record(1)).notes
    assert any("What waits in" in note for note in notes)


def test_drops_have_their_reason_at_the_node_that_drops() -> None:
    """A join without a key, and a record that cannot be decoded."""
    builder = ps.StreamsBuilder()
    table = builder.table("table", materialized="table")
    builder.stream("in").join(table, lambda a, b: [a, b]).to("out")
    topology = builder.build()
    trace = run(topology, record(1, key=None))
    assert [step.dropped for step in trace.steps if step.dropped] == [["null-join-key-or-value"]]
    config = {"deserialization.exception.handler": "continue"}
    undecoded = run(topology, record(b"{"), **config)
    assert undecoded.steps == []
    assert undecoded.dropped == [("KSTREAM-SOURCE-0000000002", "deserialization")]


def test_a_function_that_fails_is_marked_and_ends_the_journey() -> None:
    """The node that failed, and not those above it; with the text of the error."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in").filter(lambda _, v: True, name="all")
    stream.map_values(lambda v: v["amount"], name="amount").to("out")
    trace = run(builder.build(), record({}))
    assert {step.node: step.error for step in trace.steps} == {
        "KSTREAM-SOURCE-0000000000": None, "all": None, "amount": "KeyError: 'amount'",
    }  # fmt: skip
    assert trace.error is not None
    assert "user-function" in trace.error


def test_functions_that_only_act_on_the_outside_are_left_out() -> None:
    """Looking at a record must not send its mail again."""
    called: list[Any] = []
    builder = ps.StreamsBuilder()
    stream = builder.stream("in").peek(lambda k, v: called.append(v), name="peek")
    stream.for_each(lambda k, v: called.append(v), name="mail")
    stream.to("out")
    trace = run(builder.build(), record(1))
    assert called == []
    assert (named(trace, "peek").is_skipped, named(trace, "mail").is_skipped) == (True, True)
    assert named(trace, "peek").sent[0].topic == "out"


def test_a_value_that_a_later_node_changes_is_shown_as_it_was() -> None:
    """Every step has its own picture of the value."""

    def change(value: dict[str, int]) -> dict[str, int]:
        value["n"] = 2
        return value

    builder = ps.StreamsBuilder()
    builder.stream("in").map_values(change, name="change").filter(lambda _, v: True, name="then")
    trace = run(builder.build(), record({"n": 1}))
    assert plain(named(trace, "change").value) == {"n": 1}
    assert plain(named(trace, "then").value) == {"n": 2}


def test_a_record_that_becomes_thousands_is_cut() -> None:
    """The page shows the first steps, and says so."""
    builder = ps.StreamsBuilder()
    builder.stream("in").flat_map_values(lambda v: range(v)).filter(lambda _, v: True)
    trace = run(builder.build(), record(1_000))
    assert (len(trace.steps), trace.is_cut) == (300, True)


@given(values=st.lists(st.integers(-5, 5), min_size=1, max_size=12))
def test_a_journey_writes_what_the_application_would(values: list[int]) -> None:
    """With the records before it run first, the last one sends what the test driver sends."""
    builder = ps.StreamsBuilder()
    stream = builder.stream("in").filter(lambda _, v: v != 0)
    stream.group_by(lambda _, v: str(abs(v))).count("n").to_stream().to("out", value="long")
    topology = builder.build()
    records = [record(value, time=1_000 + at) for at, value in enumerate(values)]
    trace = run(topology, records[-1], before=records[:-1])
    with TopologyTestDriver(topology, CONFIG) as driver:
        for each in records[:-1]:
            driver.pipe_bytes("in", each.key, each.value, each.timestamp)
        known = len(driver.read_key_values("out"))
        driver.pipe_bytes("in", records[-1].key, records[-1].value, records[-1].timestamp)
        new = driver.read_key_values("out")
    assert known >= 0
    sent = [each for step in trace.steps for each in step.sent if not each.is_internal]
    assert [(plain(each.key), plain(each.value)) for each in sent] == new


def test_rows_of_sql_have_the_names_of_their_columns() -> None:
    """In topics and in stores, where a serde knows them."""
    engine = SqlEngine()
    engine.execute(
        "CREATE STREAM s (id VARCHAR KEY, country VARCHAR, n INT)"
        " WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON', PARTITIONS=1);"
        "CREATE TABLE t AS SELECT country, COUNT(*) AS c FROM s GROUP BY country;"
    )
    (query,) = engine.catalog.queries.values()
    trace = run(query.topology, record({"COUNTRY": "nl", "N": 3}))
    assert plain(trace.steps[0].value) == {"COUNTRY": "nl", "N": 3}
    (write,) = [each for each in accesses(trace) if each[0] == "write"]
    assert write[2] == {"COUNTRY": "nl"}
    (sent,) = [each for step in trace.steps for each in step.sent if not each.is_internal]
    assert (plain(sent.key), plain(sent.value)) == ({"COUNTRY": "nl"}, {"C": 1})
