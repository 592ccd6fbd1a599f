"""Runs topologies over columns and record at a time, on records that meet at edges of windows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

import penstock as ps
from penstock.kernel.columns import column_task
from penstock.runtime.local.memory_kafka import MemoryKafka, unbundled
from penstock.runtime.local.staged import StagedApplication
from penstock.topology.graph import Graph

#: A stack is that of the code that ran.
_OTHER_HEADERS = ("__streams.errors.stacktrace",)
#: Every edge of a window, and every moment at which one closes, is a multiple of it.
_GRID_MS = 5_000

#: What may be missing or null. Values come again and again, so that there are duplicates. The
#: large number is one that a float cannot hold.
VALUES = (
    b'{"n":1,"s":"a"}', b'{"n":2.5,"s":"abba"}', b'{"n":7,"s":""}', b'{"n":4}', b'{"s":"cb"}',
    b'{"n":-1.0,"s":"\\u00fc"}', b'{"n":null}', b'{"n":9007199254740993}', None, None,
)  # fmt: skip
#: Of another type than expected, too large, or no JSON at all.
ODD_VALUES = (b'{"n":"x"}', b"no json", b"3", b'{"n":12345678901234567890123}')
_KEYS = (b"k1", b"k2", b"k3", b"\xff", None)
_HEADERS: tuple[Any, ...] = ((), (), (), (("h", b"1"),))


@dataclass(frozen=True)
class Event:
    topic: str
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Any = ()


def grid_events(
    random: Random, count: int, values: tuple[bytes | None, ...] = VALUES, *, slowness: int = 2
) -> list[Event]:
    """Records whose times lie on the edges of windows, or one millisecond beside them.

    Time moves on by a step or two after every ``slowness`` records or so. Some records are late,
    by just enough or by far, and some come twice. In every second stream no record has headers:
    columns without any are put together in another way.
    """
    with_headers = random.choice((_HEADERS, ((),)))
    events: list[Event] = []
    now = 0
    while len(events) < count:
        now += 0 if random.randrange(slowness) else random.choice((1, 1, 2, 5))
        late = random.choice((0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 8, 12))
        beside = random.choice((0, 0, 0, -1, 1))
        event = Event(
            random.choice(("in", "in", "table")),
            random.choice(_KEYS),
            random.choice(values),
            max(0, max(0, now - late) * _GRID_MS + beside),
            random.choice(with_headers),
        )
        events += [event] * random.choice((1, 1, 1, 2))
    return events


#: Streams of some dozen records; some values of ``ODD_EVENTS`` have an unexpected type.
#: A stream is one number to Hypothesis: to draw every field of every record takes longer than to
#: run them, and a counterexample still shrinks in length.
_RANDOMS = st.integers(0, 2**32 - 1).map(Random)
EVENTS = st.builds(grid_events, _RANDOMS, st.integers(8, 40))
ODD_EVENTS = st.builds(grid_events, _RANDOMS, st.integers(4, 20), st.just((*VALUES, *ODD_VALUES)))
SIZES = st.lists(st.sampled_from([1, 2, 5, 12, 40]), min_size=1, max_size=4)
CONFIGS = st.fixed_dictionaries(
    {
        "partitions": st.integers(1, 3),
        "slots": st.integers(1, 2),
        "cache": st.sampled_from([0, 10_000_000]),
    }
)


@dataclass
class Outcome:
    """All that two runs can be compared by."""

    #: By topic and key, what was written in order, changelogs included.
    records: dict[Any, list[Any]]
    #: By output topic the keys in order, if there is one partition and no repartition: with
    #: several upstream tasks the order between keys is not determined.
    order: dict[str, list[bytes | None]]
    stores: dict[str, list[Any]]
    dropped: Counter[Any]
    clocks: dict[Any, Any]
    vectorised: int
    #: Why batches that could have run over columns did not.
    reasons: Counter[str]


def assert_same(
    graph: Graph,
    events: list[Event],
    sizes: list[int],
    config: dict[str, Any],
    *,
    may_raise: bool = False,
) -> Outcome:
    """Run a graph both ways and compare; return what the run over columns gave.

    Unless functions may raise, none of them does so over columns: a fault that looks like an error
    of the user's code would otherwise only make batches slow.
    """
    with pytest.MonkeyPatch.context() as patches:
        # However short the turns are that the inputs of a join take.
        patches.setattr(column_task, "_SHORT_RUN", 0)
        over_columns = run_graph(graph, events, sizes, config, "strict")
    by_record = run_graph(graph, events, sizes, config, "off")
    assert over_columns.records == by_record.records
    assert over_columns.order == by_record.order
    assert over_columns.stores == by_record.stores
    assert over_columns.dropped == by_record.dropped
    assert over_columns.clocks == by_record.clocks
    assert may_raise or not [why for why in over_columns.reasons if " raised " in why]
    return over_columns


def run_graph(
    graph: Graph,
    events: list[Event],
    sizes: list[int],
    config: dict[str, Any],
    vectorize: str,
    **more_settings: Any,
) -> Outcome:
    """Takes the events through in batches of these sizes."""
    kafka = MemoryKafka(config["partitions"])
    for topic in ("in", "table", "out", "other", "windows", "dead"):
        kafka.create(topic)
    settings = {
        "application.id": "app", "statestore.cache.max.bytes": config["cache"],
        "deserialization.exception.handler": "continue",
        "processing.exception.handler": "continue",
        "errors.dead.letter.queue.topic.name": "dead",
        "penstock.vectorize": vectorize, **more_settings,
    }  # fmt: skip
    application = StagedApplication(graph, settings, kafka, slots=config["slots"])
    dropped: Counter[Any] = Counter()
    piped = batch = 0
    try:
        while piped < len(events):
            size = sizes[batch % len(sizes)]
            for event in events[piped : piped + size]:
                kafka.append(event.topic, event.key, event.value, event.timestamp, event.headers)
            piped, batch = piped + size, batch + 1
            for report in application.run_batch(batch):
                dropped.update(report.dropped)
        application.run_batch(batch + 1)
        newest = max((event.timestamp for event in events), default=0)
        stores = _stores(application, newest)
        is_ordered = config["partitions"] == 1 and not graph.internal_topics
        order = _order(kafka) if is_ordered else {}
        return Outcome(
            _records(kafka), order, stores, dropped, application.clocks, application.column_batches,
            application.column_reasons,
        )  # fmt: skip
    finally:
        application.close()


def _records(kafka: MemoryKafka) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for record in (row for each in kafka.committed for row in unbundled(each)):
        if record.topic not in ("in", "table") and "penstock-batches" not in record.topic:
            headers = [h for h in record.headers if h[0] not in _OTHER_HEADERS]
            kept = (record.partition, record.value, record.timestamp, headers)
            found.setdefault((record.topic, record.key), []).append(kept)
    return found


def _order(kafka: MemoryKafka) -> dict[str, list[bytes | None]]:
    written = {topic: list[bytes | None]() for topic in ("out", "other")}
    for record in (row for each in kafka.committed for row in unbundled(each)):
        if record.topic in written:
            written[record.topic].append(record.key)
    return written


def _stores(application: StagedApplication, newest: int) -> dict[str, list[Any]]:
    return {
        name: [[e for e in store.all() if not _is_expired(e[0], newest)] for store in stores]
        for name, stores in application.stores().items()
        # The buffer of a suppress cannot be read, but it is logged.
        if all(hasattr(store, "all") for store in stores)
    }


def _is_expired(key: Any, newest: int) -> bool:
    """A cache shows windows that its store has let go. Stores keep them for 40 s or longer."""
    return isinstance(key, ps.Windowed) and key.start <= newest - 40_000
