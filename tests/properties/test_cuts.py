"""A batch may be cut anywhere: with what is left fed again, results are those of one batch."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.kernel.record_queue import RawRecord
from penstock.topology.graph import Graph
from tests.properties import column_programs as programs
from tests.properties import topologies
from tests.properties.column_runs import ODD_VALUES, VALUES
from tests.properties.cut_runs import CutRun, Cuts, Outcome, Topics, small_pieces
from tests.properties.runs import SOME


def merged() -> ps.Topology:
    """Among equal timestamps the order of the inputs shows in one topic."""
    builder = ps.StreamsBuilder()
    builder.stream(["in", "table", "third", "fourth"], key=str, value=int).to("out")
    return builder.build()


class Ticker(ps.Processor[Any, Any, Any, Any]):
    """Forwards every record, and a tick per three seconds of stream time."""

    def init(self, context: Any) -> None:
        self.context = context
        context.schedule("3s", ps.PunctuationType.STREAM_TIME, self.tick)

    def tick(self, timestamp: int) -> None:
        self.context.forward(ps.Record("tick", timestamp, timestamp))

    def process(self, record: Any) -> None:
        self.context.forward(record)


def ticking() -> ps.Topology:
    builder = ps.StreamsBuilder()
    both = builder.stream(["in", "table"], key=str, value=int)
    both.process(Ticker).to("out", key=str, value=int)
    return builder.build()


#: Those with one sub-topology: a task has no more.
BUILDS = [
    topologies.stateless, topologies.window_count, topologies.final_window_count,
    topologies.session_sum, topologies.stream_table_join, topologies.table_join,
    topologies.stream_join, merged, ticking,
]  # fmt: skip
COLUMN_BUILDS = [
    programs.stateless, programs.divided, programs.merged, programs.counts,
    programs.doubles, programs.windows, programs.hopping, programs.reduced,
    programs.joined, programs.left_joined, programs.table, programs.table_filtered,
]  # fmt: skip
#: Their folds leave results to the cache, for nodes that see records one by one.
CACHED_BUILDS = [*COLUMN_BUILDS, programs.one_by_one, programs.suppressed]

EXTRACTORS = st.sampled_from(
    ["FailOnInvalidTimestamp", "LogAndSkipOnInvalidTimestamp", "UsePartitionTimeOnInvalidTimestamp"]
)
EXTRACTOR = "FailOnInvalidTimestamp"
CUTS = st.builds(
    Cuts,
    questions=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=5),
)
KEYS = st.sampled_from([b"k1", b"k2", b"k3", b"\xff", None])
encode = struct.Struct(">q").pack
NUMBERS = st.sampled_from([*map(encode, range(4)), encode(7), b"bad", None])


def topics(
    values: st.SearchStrategy[bytes | None], *, names: tuple[str, ...], oldest_s: int
) -> st.SearchStrategy[Topics]:
    """Records whose times are often equal and often late, and of which some cannot be decoded."""
    record = st.tuples(st.integers(oldest_s, 60), KEYS, values)

    def numbered(topic: str, records: list[Any]) -> list[RawRecord]:
        return [
            RawRecord(topic, 0, offset, second * 1000, key, value)
            for offset, (second, key, value) in enumerate(records)
        ]

    lists = [st.lists(record, min_size=1, max_size=14) for _ in names]
    return st.tuples(*lists).map(
        lambda each: {n: numbered(n, r) for n, r in zip(names, each, strict=True)}
    )


def read_by(graph: Graph, given_topics: Topics) -> Topics:
    """Only the topics that the graph reads."""
    read = {topic for node in graph.nodes.values() for topic in getattr(node, "topics", ())}
    return {topic: records for topic, records in given_topics.items() if topic in read}


def valid(extractor: str, given_topics: Topics) -> Topics:
    """The topics without records that are errors: a first one without a time often is."""
    if extractor == "FailOnInvalidTimestamp":
        return {t: [r for r in records if r.timestamp >= 0] for t, records in given_topics.items()}
    return {
        topic: [RawRecord(topic, 0, 0, max(0, first.timestamp), b"k1", encode(0)), *others]
        for topic, (first, *others) in given_topics.items()
    }


def ending_well(given_topics: Topics) -> Topics:
    """The topics with a last record that can be decoded.

    One that ends in skipped records takes a turn for their offsets. Where all that another one
    has handed over is skipped too, that turn comes earlier in a cut batch than in a whole one,
    and may change which of several topics with equal timestamps comes first.
    """
    return {
        topic: [*records, records[-1]._replace(offset=records[-1].offset + 1, value=encode(0))]
        for topic, records in given_topics.items()
        if records
    }


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)
@SOME
@given(
    events=topics(NUMBERS, names=("in", "table", "third", "fourth"), oldest_s=-1),
    cuts=CUTS, extractor=EXTRACTORS,
)  # fmt: skip
def test_cuts_change_nothing(
    build: Callable[[], ps.Topology], events: Topics, cuts: Cuts, extractor: str
) -> None:
    """Record at a time all is the same: output and its order, dead letters, drops, clocks."""
    graph = build().graph
    events = ending_well(valid(extractor, read_by(graph, events)))
    whole = CutRun(graph, extractor=extractor).run(events)
    cut = CutRun(build().graph, extractor=extractor).run(events, cuts)
    assert len(whole.batches) <= 1
    assert cut.results == whole.results
    assert cut.letters == whole.letters
    assert cut.view == whole.view
    assert_same_end(cut, whole)


@pytest.mark.parametrize("build", COLUMN_BUILDS, ids=lambda build: build.__name__)
@SOME
@given(
    events=topics(
        st.sampled_from([*VALUES, *VALUES, *ODD_VALUES]), names=("in", "table"), oldest_s=0
    ),
    cuts=CUTS,
)
def test_cuts_change_nothing_over_columns(
    build: programs.Build, events: Topics, cuts: Cuts
) -> None:
    """Without a cache every key has the same results, drops, dead letters and clocks."""
    cut, events = over_columns(build, events, cuts, cache_bytes=0)
    whole = CutRun(graph_of(build), extractor=EXTRACTOR).run(events)
    assert cut.by_key == whole.by_key
    assert cut.letters == whole.letters
    assert cut.view == whole.view
    assert_same_end(cut, whole)


@pytest.mark.parametrize("build", CACHED_BUILDS, ids=lambda build: build.__name__)
@SOME
@given(
    events=topics(
        st.sampled_from([*VALUES, *VALUES, *ODD_VALUES]), names=("in", "table"), oldest_s=0
    ),
    cuts=CUTS,
)
def test_batches_cut_over_columns_are_those_of_records(
    build: programs.Build, events: Topics, cuts: Cuts
) -> None:
    """A cut is a commit, which a cache shows; so the same batches are run record at a time."""
    cut, events = over_columns(build, events, cuts, cache_bytes=10_000_000)
    graph = graph_of(build)
    by_record = CutRun(graph, extractor=EXTRACTOR, cache_bytes=10_000_000)
    repeated = by_record.repeat(events, cut.batches)
    assert repeated.by_key == cut.by_key
    assert repeated.letters == cut.letters
    assert repeated.view == cut.view
    assert_same_end(repeated, cut)


@pytest.mark.parametrize("build", CACHED_BUILDS, ids=lambda build: build.__name__)
def test_these_topologies_are_cut_over_columns(build: programs.Build) -> None:
    """The property would hold of itself if none of them were."""
    records = [RawRecord("in", 0, n, n + 9, b"k1", b'{"n":1,"s":"a"}') for n in range(9)]
    other = [RawRecord("table", 0, n, n, b"k1", b'{"n":1,"s":"a"}') for n in range(4)]
    events = {"in": records, "table": other}
    cut, _ = over_columns(build, events, Cuts([2], [3]), cache_bytes=10_000_000)
    assert cut.over_columns == len(cut.batches) > 1


def graph_of(build: programs.Build) -> Graph:
    builder = ps.StreamsBuilder()
    build(builder)
    return builder.build().graph


def over_columns(
    build: programs.Build, events: Topics, cuts: Cuts, *, cache_bytes: int
) -> tuple[Outcome, Topics]:
    """Run the events over columns in batches that are cut; return those that are read, too."""
    graph = graph_of(build)
    events = read_by(graph, events)
    patches = small_pieces()
    try:
        run = CutRun(graph, extractor=EXTRACTOR, cache_bytes=cache_bytes, vectorize="strict")
        return run.run(events, cuts), events
    finally:
        patches.undo()


def assert_same_end(one: Outcome, other: Outcome) -> None:
    assert one.stores == other.stores
    assert one.dropped == other.dropped
    assert one.clocks == other.clocks
