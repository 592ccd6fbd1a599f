"""Over columns or record at a time: the same output, the same changelogs, the same stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.topology.graph import Graph
from tests.properties.runs import SOME
from tests.runtime.memory_kafka import MemoryKafka, unbundled
from tests.runtime.staged import StagedApplication

Build = Callable[[ps.StreamsBuilder], None]
amount = ps.col("n")
#: A stack is that of the code that ran.
_OTHER_HEADERS = ("__streams.errors.stacktrace",)


def stateless(builder: ps.StreamsBuilder) -> None:
    size = ps.when(amount > 3).then("many").otherwise(ps.col("s"))
    numbers = builder.stream("in", key="string", value="json")
    numbers.filter(amount > 0).map_values(ps.struct(n=amount * 2, size=size)).to(
        "out", key_serde="string", value_serde="json"
    )
    numbers.filter_not(ps.value.is_null()).map_values(str).to("other", value_serde="string")


def divided(builder: ps.StreamsBuilder) -> None:
    arms = (
        builder.stream("in", key="string", value="json")
        .split("arm-")
        .branch(amount > 3, ps.Branched.as_("large"))
        .branch(ps.col("s") == "a", ps.Branched.as_("a"))
        .default_branch(ps.Branched.as_("rest"))
    )
    arms["arm-large"].to("out", key_serde="string", value_serde="json")
    arms["arm-rest"].map_values(ps.col("s")).to("other", key_serde="string", value_serde="json")


def merged(builder: ps.StreamsBuilder) -> None:
    """One source with several queues: the order of a key is that of the timestamps."""
    both = builder.stream(["in", "table"], key="string", value="json")
    both.map_values(amount).to("out", key_serde="string", value_serde="json")


def moved(builder: ps.StreamsBuilder) -> None:
    """Several queues behind a repartition, whose last record is the row."""
    stream = builder.stream("in", key="string", value="json").select_key(ps.col("s"))
    rows = stream.to_table("rows", key_serde="string", value_serde="json")
    rows.to_stream().to("out", key_serde="string", value_serde="json")


def counts(builder: ps.StreamsBuilder) -> None:
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    counted.to_stream().map_values(str).to("out", key_serde="string", value_serde="string")


def repartitioned(builder: ps.StreamsBuilder) -> None:
    words = builder.stream("in", key="string", value="json").filter(ps.col("s").is_not_null())
    (
        words.flat_map_values(ps.col("s").split("b"))
        .group_by(ps.value, key_serde="string", value_serde="string")
        .count("words")
        .to_stream()
        .to("out", key_serde="string", value_serde="long")
    )


def sums(builder: ps.StreamsBuilder) -> None:
    """With a repartition, so that records of several queues are folded in order of time."""
    (
        builder.stream("in", key="string", value="json")
        .group_by(ps.col("s"), key_serde="string", value_serde="json")
        .aggregate(
            total=ps.sum_(amount), least=ps.min_(amount), last=ps.last(ps.key), n=ps.count(),
            mean=ps.avg(amount), seen=ps.collect(amount),
        )
        .to("out", key_serde="string", value_serde="json")
    )  # fmt: skip


def doubles(builder: ps.StreamsBuilder) -> None:
    """A store whose values are not those that are folded: an int comes back as a float."""
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.aggregate(ps.sum_(amount), materialized="sums", value_serde="double")
    table.to_stream().map_values(str).to("out", key_serde="string", value_serde="string")


def windows(builder: ps.StreamsBuilder) -> None:
    tumbling = ps.TimeWindows.of_size_and_grace("30s", "20s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    table = grouped.windowed_by(tumbling).aggregate(
        ps.sum_(amount), materialized="sums", value_serde="double"
    )
    name = ps.key["key"] + "@" + ps.key["start"].cast(str)
    table.to_stream(name).to("out", key_serde="string", value_serde="double")


def hopping(builder: ps.StreamsBuilder) -> None:
    overlapping = ps.TimeWindows.of_size_and_grace("30s", "10s").advance_by("10s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    counted = grouped.windowed_by(overlapping).count("counts")
    name = ps.key["key"] + "@" + ps.key["start"].cast(str) + "-" + ps.key["end"].cast(str)
    counted.to_stream(name).to("out", key_serde="string", value_serde="long")


def reduced(builder: ps.StreamsBuilder) -> None:
    grouped = builder.stream("in", key="string", value="json").map_values(amount).group_by_key()
    grouped.reduce(max, "most", value_serde="json").to_stream().to("out", value_serde="json")


def joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    both = ps.left.with_fields(other=ps.right["n"], s=ps.right["s"])
    stream = builder.stream("in", key="string", value="json")
    stream.join(rows, both).to("out", key_serde="string", value_serde="json")


def left_joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    stream.left_join(rows, ps.struct(one=ps.left["n"], other=ps.right["n"])).to(
        "out", key_serde="string", value_serde="json"
    )


def table(builder: ps.StreamsBuilder) -> None:
    rows = builder.table("in", materialized="rows", key="string", value="json")
    rows.to_stream().map_values(amount).to("out", key_serde="string", value_serde="json")


def table_filtered(builder: ps.StreamsBuilder) -> None:
    """A table without a store has no old values: every row that fails is a tombstone."""
    rows = builder.table("in", key="string", value="json")
    rows.filter(ps.value.is_not_null() & (ps.col("s") == "a")).to_stream().to(
        "out", key_serde="string", value_serde="json"
    )


def global_joined(builder: ps.StreamsBuilder) -> None:
    rows = builder.global_table("table", materialized="rows", key="string", value="json")
    stream = builder.stream("in", key="string", value="json")
    stream.join(
        rows, ps.left.with_fields(other=ps.right["n"]), key=ps.col("s")
    ).to("out", key_serde="string", value_serde="json")  # fmt: skip


@dataclass
class Number:
    n: float
    s: str | None = None


def typed(builder: ps.StreamsBuilder) -> None:
    """Values of a declared type, which are checked while they are read."""
    numbers = builder.stream("in", key="string", value=Number).filter(amount > 1)
    numbers.to("out", key_serde="string", value_serde=Number)
    grouped = numbers.group_by(ps.col("s"), key_serde="string", value_serde=Number)
    totals = grouped.aggregate(total=ps.sum_(amount), last=ps.last(ps.value["s"]))
    totals.to("other", key_serde="string", value_serde="json")


def one_by_one(builder: ps.StreamsBuilder) -> None:
    """Functions behind a cached fold see its results when the cache is flushed."""
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    stream = counted.to_stream().filter(lambda key, n: n % 3 > 0)
    stream.map_values(lambda key, n: f"{key} {60 // (4 - n)}").to("out", value_serde="string")
    stream.to("other", key_serde="string", value_serde="long")


def having(builder: ps.StreamsBuilder) -> None:
    """A row that fails is a tombstone only if it was seen before: old values are asked for."""
    grouped = builder.stream("in", key="string", value="json").group_by(
        ps.col("s"), key_serde="string", value_serde="json"
    )
    totals = grouped.aggregate(total=ps.sum_(amount), n=ps.count())
    kept = ps.Materialized(name="some", key_serde="string", value_serde="json")
    some = totals.filter(ps.col("n") > 2, materialized=kept)
    some.to_stream().to("out", key_serde="string", value_serde="json")


def regrouped(builder: ps.StreamsBuilder) -> None:
    """A table's changes go on as new and old values."""
    counted = builder.stream("in", key="string", value="json").group_by_key().count("counts")
    parity = counted.group_by(
        lambda key, n: (str(n % 2), n), key_serde="string", value_serde="long"
    )
    parity.count("parity").to_stream().to("out", key_serde="string", value_serde="long")


def suppressed(builder: ps.StreamsBuilder) -> None:
    """The buffer notes the position of each window's last record in its changelog."""
    tumbling = ps.TimeWindows.of_size_and_grace("30s", "20s")
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    totals = grouped.windowed_by(tumbling).aggregate(
        ps.sum_(amount), materialized="sums", value_serde="double"
    )
    final = totals.suppress(ps.Suppressed.until_window_closes())
    name = ps.key["key"] + "@" + ps.key["start"].cast(str)
    final.to_stream(name).to("out", key_serde="string", value_serde="double")


BUILDS = [
    stateless, typed, divided, merged, moved, counts, repartitioned, sums, doubles, windows,
    one_by_one, having, regrouped, suppressed, hopping, reduced, joined, left_joined, table,
    table_filtered, global_joined,
]  # fmt: skip
#: What may be missing, of another type than expected, or no JSON at all.
VALUES = st.sampled_from(
    [b'{"n":1,"s":"a"}', b'{"n":2.5,"s":"abba"}', b'{"n":7,"s":""}', b'{"n":4}', b'{"s":"cb"}',
     b'{"n":-1.0,"s":"\\u00fc"}', b'{"n":null}', None]
)  # fmt: skip
ODD_VALUES = st.sampled_from([b'{"n":"x"}', b"no json", b"3", b'{"n":12345678901234567890123}'])
HEADERS = st.sampled_from([(), (), (), (("h", b"1"),)])


@dataclass(frozen=True)
class Event:
    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Any


EVENTS = st.lists(
    st.builds(
        Event,
        st.sampled_from(["in", "in", "table"]),
        st.sampled_from([b"k1", b"k2", b"k3", b"\xff", None]),
        st.one_of(VALUES, VALUES, VALUES, VALUES, ODD_VALUES),
        st.integers(0, 150_000),
        HEADERS,
    ),
    max_size=40,
)


@dataclass
class Outcome:
    """All that two runs can be compared by."""

    records: dict[Any, list[Any]]
    stores: dict[str, list[Any]]
    dropped: Counter[Any]
    vectorised: int


def run(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any], vectorize: str
) -> Outcome:
    builder = ps.StreamsBuilder()
    build(builder)
    return run_graph(builder.build().graph, events, sizes, config, vectorize)


def run_graph(
    graph: Graph, events: list[Event], sizes: list[int], config: dict[str, Any], vectorize: str
) -> Outcome:
    """Takes the events through in batches of these sizes."""
    kafka = MemoryKafka(config["partitions"])
    for topic in ("in", "table", "out", "other", "dead"):
        kafka.create(topic)
    settings = {
        "application.id": "app", "statestore.cache.max.bytes": config["cache"],
        "deserialization.exception.handler": "continue",
        "processing.exception.handler": "continue",
        "errors.dead.letter.queue.topic.name": "dead",
        "penstock.vectorize": vectorize,
    }  # fmt: skip
    application = StagedApplication(graph, settings, kafka, slots=config["slots"])
    piped = 0
    dropped: Counter[Any] = Counter()
    try:
        while piped < len(events):
            size = sizes[piped % len(sizes)]
            for event in events[piped : piped + size]:
                kafka.append(event.topic, event.key, event.value, event.timestamp, event.headers)
            piped += size
            for report in application.run_batch(piped):
                dropped.update(report.dropped)
        application.run_batch(piped)
        newest = max((event.timestamp for event in events), default=0)
        stores = _stores(application, newest)
        return Outcome(_records(kafka), stores, dropped, application.column_batches)
    finally:
        application.close()


def _records(kafka: MemoryKafka) -> dict[Any, list[Any]]:
    """By topic and key, what was written in order."""
    found: dict[Any, list[Any]] = {}
    for record in (row for each in kafka.committed for row in unbundled(each)):
        if record.topic not in ("in", "table") and "penstock-batches" not in record.topic:
            headers = [h for h in record.headers if h[0] not in _OTHER_HEADERS]
            kept = (record.partition, record.value, record.timestamp, headers)
            found.setdefault((record.topic, record.key), []).append(kept)
    return found


def _stores(application: StagedApplication, newest: int) -> dict[str, list[Any]]:
    return {
        name: [[e for e in store.all() if not _is_expired(e[0], newest)] for store in stores]
        for name, stores in application.stores().items()
        # Nobody can look into the buffer of a suppress, but it is logged.
        if all(hasattr(store, "all") for store in stores)
    }


def _is_expired(key: Any, newest: int) -> bool:
    """A cache shows windows that its store has let go. No topology here keeps them longer."""
    return isinstance(key, ps.Windowed) and key.start <= newest - 40_000


CONFIGS = st.fixed_dictionaries(
    {
        "partitions": st.integers(1, 3),
        "slots": st.integers(1, 2),
        "cache": st.sampled_from([0, 10_000_000]),
    }
)


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
@SOME
@given(events=EVENTS, sizes=st.lists(st.integers(1, 40), min_size=1), config=CONFIGS)
def test_columns_change_nothing(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Whatever the records, however they are cut into batches, with a cache or without."""
    over_columns = run(build, events, sizes, config, "strict")
    by_record = run(build, events, sizes, config, "off")
    assert over_columns.records == by_record.records
    assert over_columns.stores == by_record.stores
    assert over_columns.dropped == by_record.dropped


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
def test_these_topologies_do_run_over_columns(build: Build) -> None:
    """The property would hold of itself if none of them did."""
    events = [Event("in", b"k1", b'{"n":1,"s":"a"}', n, ()) for n in range(3)]
    config = {"partitions": 1, "slots": 1, "cache": 10_000_000}
    assert run(build, events, [3], config, "strict").vectorised > 0
    assert run(build, events, [3], config, "auto").vectorised == 0


def test_record_that_is_skipped_leaves_the_others_to_columns() -> None:
    """Its handler is asked, its dead letter is written, and the batch goes on."""
    values = [b'{"n":1}', b"no json", b'{"n":2}']
    events = [Event("in", b"k1", value, n, ()) for n, value in enumerate(values)]
    config = {"partitions": 1, "slots": 1, "cache": 10_000_000}
    outcome = run(counts, events, [3], config, "strict")
    assert outcome.vectorised > 0
    assert [value for _, value, _, _ in outcome.records["out", b"k1"]] == [b"2"]
    assert [value for _, value, _, _ in outcome.records["dead", b"k1"]] == [b"no json"]
    assert sum(outcome.dropped.values()) == 1
