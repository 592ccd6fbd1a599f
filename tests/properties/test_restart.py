"""A restart keeps nothing but topics and clocks, and loses nothing."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.strategies import Event, batches, keys, streams
from tests.properties.runs import FEW, SOME, Run, cut, for_each, read_by, run
from tests.properties.topologies import ONE_TOPIC, TWO_TOPICS, Build, deduplicated

TOPOLOGIES = ONE_TOPIC + TWO_TOPICS
#: A restart here counts offsets from 0 again, which Kafka never does. Deduplication tells a record
#: that is read again from a duplicate by its offset.
WITHOUT_OFFSETS = [build for build in TOPOLOGIES if build is not deduplicated]
EVENTS = streams(topics=("in", "table"), key=keys(3, nulls=True))


@for_each(TOPOLOGIES)
@SOME
@given(events=EVENTS, sizes=batches(), cache_bytes=st.sampled_from([0, 400, 10_000_000]))
def test_changelogs_restore_what_was_committed(
    build: Build, events: list[Event], sizes: list[int], cache_bytes: int
) -> None:
    """Stores that are filled from their changelogs are equal to those that were closed."""
    application = Run(build, cache_bytes=cache_bytes)
    for batch in cut(read_by(build, events), sizes):
        application.pipe(batch)
    before = application.contents()
    application.restart()
    assert application.contents() == before
    application.close()


@for_each(WITHOUT_OFFSETS)
@SOME
@given(events=EVENTS, sizes=batches(), restart_every=st.integers(1, 3))
def test_restarts_never_change_what_a_key_sees(
    build: Build, events: list[Event], sizes: list[int], restart_every: int
) -> None:
    """Work goes on after a restart as if there had been none."""
    events = read_by(build, events)
    application = Run(build)
    for number, batch in enumerate(cut(events, sizes)):
        if number % restart_every == 0:
            application.restart()
        application.pipe(batch)
    restarted, undisturbed = application.close(), run(build, events, batch_sizes=sizes)
    assert restarted.by_key == undisturbed.by_key
    assert restarted.stores == undisturbed.stores


@for_each(TOPOLOGIES)
@FEW
@given(events=EVENTS, sizes=batches(), cache_bytes=st.sampled_from([0, 400]))
def test_stores_on_disk_and_in_memory_are_the_same(
    build: Build, events: list[Event], sizes: list[int], cache_bytes: int
) -> None:
    """Where a store keeps its bytes changes neither results nor what is in it."""
    events = read_by(build, events)
    on_disk = run(build, events, batch_sizes=sizes, cache_bytes=cache_bytes, on_disk=True)
    in_memory = run(build, events, batch_sizes=sizes, cache_bytes=cache_bytes)
    assert on_disk.commits == in_memory.commits
    assert on_disk.stores == in_memory.stores


@for_each(TOPOLOGIES)
@FEW
@given(events=EVENTS, sizes=batches())
def test_restart_on_disk_restores_what_was_committed(
    build: Build, events: list[Event], sizes: list[int]
) -> None:
    """Restoring goes through the engine's own way of writing, so it is tried there, too."""
    application = Run(build, on_disk=True)
    for batch in cut(read_by(build, events), sizes):
        application.pipe(batch)
    before = application.contents()
    application.restart()
    assert application.contents() == before
    application.close()
