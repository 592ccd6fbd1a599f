"""How records are cut into batches, and how much is cached, never changes what is committed."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.strategies import Event, batches, in_processing_order, keys, streams
from tests.properties import topologies
from tests.properties.runs import SOME, for_each, read_by, run
from tests.properties.topologies import ONE_TOPIC, TWO_TOPICS, Build

TOPOLOGIES = ONE_TOPIC + TWO_TOPICS
#: A foreign-key join asks over a topic and drops answers that come after the next question, so
#: how many results lie in between depends on what is asked together, as in Kafka Streams.
SEQUENTIAL = [build for build in TOPOLOGIES if build is not topologies.foreign_key_join]
#: Behind a cache, suppression sees time move only at commits, as in Kafka Streams: which commit
#: a final result belongs to may differ, what it says may not.
FINAL = [topologies.final_window_count]
CACHED = [build for build in TOPOLOGIES if build not in FINAL]
CACHE_SIZES = st.sampled_from([0, 1, 150, 400, 10_000_000])

EVENTS = streams(topics=("in", "table"), key=keys(3, nulls=True))


@for_each(SEQUENTIAL)
@SOME
@given(events=EVENTS, sizes=batches(), commit_every=st.integers(1, 9))
def test_batches_and_commits_never_change_what_a_key_sees(
    build: Build, events: list[Event], sizes: list[int], commit_every: int
) -> None:
    """Without a cache every key has the same sequence of results, however work is cut."""
    events = read_by(build, events)
    one_by_one = run(build, events)
    in_batches = run(build, events, batch_sizes=sizes)
    committed_often = run(build, events, batch_sizes=sizes, commit_every=commit_every)
    assert in_batches.by_key == committed_often.by_key == one_by_one.by_key
    assert in_batches.stores == committed_often.stores == one_by_one.stores


@for_each(CACHED)
@SOME
@given(events=EVENTS, sizes=batches(), cache_bytes=CACHE_SIZES)
def test_cache_never_changes_the_table_at_a_commit(
    build: Build, events: list[Event], sizes: list[int], cache_bytes: int
) -> None:
    """A cache leaves results out, but not the last one per key before a commit."""
    events = read_by(build, events)
    cached = run(build, events, batch_sizes=sizes, cache_bytes=cache_bytes)
    uncached = run(build, events, batch_sizes=sizes)
    assert cached.views == uncached.views
    assert cached.rows == uncached.rows


@for_each(FINAL)
@SOME
@given(events=EVENTS, sizes=batches(), cache_bytes=CACHE_SIZES)
def test_cache_never_changes_final_results(
    build: Build, events: list[Event], sizes: list[int], cache_bytes: int
) -> None:
    """Once everything is closed, every window has been emitted once, with the same value."""
    last = max((event.timestamp for event in events), default=0) + 600_000
    events = [*read_by(build, events), Event("in", "end", 1, last)]
    cached = run(build, events, batch_sizes=sizes, cache_bytes=cache_bytes)
    uncached = run(build, events, batch_sizes=sizes)
    assert cached.by_key == uncached.by_key


@for_each([topologies.foreign_key_join])
@SOME
@given(events=EVENTS, sizes=batches(), commit_every=st.integers(1, 9))
def test_batches_never_change_where_a_foreign_key_join_ends(
    build: Build, events: list[Event], sizes: list[int], commit_every: int
) -> None:
    """What lies between may differ; the table at the end of a batch may not."""
    one_by_one = run(build, events)
    in_batches = run(build, events, batch_sizes=sizes, commit_every=commit_every)
    assert in_batches.views[-1:] == one_by_one.views[-1:]
    assert in_batches.stores == one_by_one.stores


@given(events=EVENTS, length=st.integers(0, 40))
def test_processing_order_survives_a_cut(events: list[Event], length: int) -> None:
    """The strategies' promise: a task takes any leading part in the order of the whole."""
    assert in_processing_order(events) == events
    assert in_processing_order(events[length:]) == events[length:]
