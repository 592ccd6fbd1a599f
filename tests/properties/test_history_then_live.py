"""History up to a cut, and then live with faults, makes what one run without either makes.

A backfill hands changelogs and clocks over, as ``penstock.runtime.spark.backfill`` does it through
Kafka; ``tests/integration/spark/test_backfill.py`` and ``tests/chaos/test_backfill.py`` do so.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.strategies import Event, batches, keys, streams
from tests.properties.history_runs import by_key, handed_over, over_history
from tests.properties.runs import SOME, Run, cut, for_each, read_by, run
from tests.properties.test_restart import WITHOUT_OFFSETS
from tests.properties.topologies import Build

EVENTS = streams(topics=("in", "table"), key=keys(3, nulls=True))
#: After each batch: the process ends, or dies in the middle of the batch, or nothing happens.
FAULTS = st.lists(st.sampled_from(["restart", "crash", "none"]), min_size=1, max_size=6)


@for_each(WITHOUT_OFFSETS)
@SOME
@given(events=EVENTS, share=st.floats(0, 1), sizes=batches(), faults=FAULTS)
def test_a_cut_between_history_and_live_changes_nothing(
    build: Build, events: list[Event], share: float, sizes: list[int], faults: list[str]
) -> None:
    """Late records meet the same open and closed windows, and no output is missing or doubled."""
    events = read_by(build, events)
    at = round(share * len(events))
    expected, topology = run(build, events), build()
    history = over_history(topology, events[:at], with_offsets=True, logs_changes=True)
    application = Run(build)
    application.go_on(events[:at], *handed_over(topology, history))
    for number, batch in enumerate(cut(events[at:], sizes)):
        match faults[number % len(faults)]:
            case "restart":
                application.restart()
            case "crash":
                application.crash(batch)
        application.pipe(batch)
    live, found = application.close(), by_key(topology, history)
    for key, written in live.by_key.items():
        found.setdefault(key, []).extend(written)
    assert found == expected.by_key
    assert live.stores == expected.stores
