"""The state of a record's time is found, as far as it can be had. Exercises ``app_state``."""

from __future__ import annotations

import json
from typing import Any

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.errors import InvalidArgumentError
from penstock.serde.serdes import Serdes
from penstock.serving.application import NotAvailableError, Row
from penstock.serving.journey.app_state import AppState
from penstock.serving.journey.journey import Journey, follow, newest_records
from penstock.state.spec import StoreKind
from tests.unit.serving.memory_application import MemoryApplication, one_instance, store_info
from tests.unit.serving.memory_journeys import MemoryJourneys

CONFIG = StreamsConfig(
    {"application.id": "app", "default.key.serde": "string", "default.value.serde": "json"}
)


def topology() -> ps.Topology:
    builder = ps.StreamsBuilder()
    builder.stream("in").group_by_key().count("counts")
    return builder.build()


def application() -> MemoryApplication:
    """Three records of one key, with a commit after the first and after the third."""
    made = one_instance(store_info("counts", value=Serdes.long(), partitions=2))
    tools = made.tools = MemoryJourneys(topology(), CONFIG)
    for number in range(4):
        tools.add("in", b"a", b"1", 1_000 + number)
    made.cluster.write("counts", ("a", 1))
    made.cluster.commit(10, {"in": {0: 1}})
    made.cluster.write("counts", ("a", 2), ("a", 3))
    made.cluster.commit(11, {"in": {0: 3}})
    return made


def journey(made: MemoryApplication, offset: int) -> Journey:
    return follow(made, made.tools, ("in", 0, offset))


def written(found: Journey) -> list[Any]:
    return [
        (json.loads(bytes(each.before)), json.loads(bytes(each.value)))
        for step in found.trace.steps
        for each in step.accesses
        if each.before is not None
    ]


@pytest.mark.parametrize(
    ("offset", "commit", "run_before", "is_processed"),
    [(1, 10, 0, True), (2, 10, 1, True), (3, 11, 0, False)],
)
def test_a_record_is_run_on_the_state_before_it(
    offset: int, commit: int, run_before: int, is_processed: bool
) -> None:
    """The newest commit without it, and the records of its partition that came between."""
    found = journey(application(), offset)
    assert found.commit is not None
    assert (found.commit.number, found.run_before) == (commit, run_before)
    assert found.is_processed is is_processed
    assert written(found) == [(offset, offset + 1)]


def test_a_record_older_than_all_commits_is_run_on_the_present() -> None:
    """And the journey says what that means."""
    found = journey(application(), 0)
    assert (found.commit, found.is_processed) == (None, True)
    assert written(found) == [(3, 4)]
    assert "as they are now" in found.trace.notes[0]


def test_without_commits_nothing_is_known_about_the_time() -> None:
    """An instance that does not lead has none."""
    made = application()
    made.cluster.commits.clear()
    assert journey(made, 2).is_processed is None


def test_a_long_way_from_the_commit_is_cut() -> None:
    """The last records before it are run, and the journey says that others were not."""
    made = application()
    assert isinstance(made.tools, MemoryJourneys)
    for number in range(600):
        made.tools.add("in", b"b", b"1", 2_000 + number)
    found = journey(made, 603)
    assert found.run_before == 500
    assert "600 records" in found.trace.notes[0]


@pytest.mark.parametrize(
    ("place", "code"),
    [
        (("in", 0, 99), "no-such-record"),
        (("in", 7, 0), "no-such-record"),
        (("app-counts-changelog", 0, 0), "not-a-source"),
    ],
)
def test_only_records_of_sources_are_followed(place: tuple[str, int, int], code: str) -> None:
    """With what can be picked instead."""
    made = application()
    with pytest.raises(InvalidArgumentError) as raised:
        follow(made, made.tools, place)
    assert raised.value.code == code


def test_the_newest_records_come_first_and_a_key_is_found() -> None:
    """By the beginning of the serialized key."""
    tools = MemoryJourneys(topology(), CONFIG)
    for number in range(30):
        tools.add("in", b"k%d" % (number % 10), b"1", number, number % 3)
    found, is_whole = newest_records(tools, "in", None, 5)
    assert ([record.timestamp for record in found], is_whole) == ([29, 28, 27, 26, 25], False)
    found, is_whole = newest_records(tools, "in", "k7", 5)
    assert ([record.timestamp for record in found], is_whole) == ([27, 17, 7], True)


def kinds() -> MemoryApplication:
    made = one_instance(
        store_info("pairs"),
        store_info("windows", StoreKind.TIMESTAMPED_WINDOW, window_size_ms=10),
        store_info("sessions", StoreKind.SESSION),
        store_info("versions", StoreKind.VERSIONED_KEY_VALUE),
        store_info("everywhere", partitions=1, is_global=True),
        store_info("placed", is_placed=True),
    )
    put = made.cluster.put
    for name in ("pairs", "everywhere", "placed"):
        put(name, *(Row(f"k{number}", number, 1) for number in range(300)))
    put("windows", *(Row("a", start, start, start, start + 10) for start in (0, 10, 20)))
    put("sessions", Row("a", 1, None, 5, 9))
    put("versions", Row("a", "old", 1, valid_to=5), Row("a", "new", 5))
    return made


@pytest.mark.parametrize(
    ("store", "key", "values"),
    [
        ("pairs", "k7", [7]),
        ("pairs", "none", []),
        ("everywhere", "k8", [8]),
        ("placed", "k9", [9]),
        ("windows", "a", [20, 10, 0]),
        ("sessions", "a", [1]),
        ("versions", "a", ["old", "new"]),
        ("pairs", None, []),
    ],
)
def test_all_rows_of_a_key_are_read_whatever_the_store(
    store: str, key: str | None, values: list[Any]
) -> None:
    """Windows, sessions and versions, too."""
    found = AppState(kinds(), None).of_key(store, key)
    assert [row.value for row in found.rows] == values
    assert found.why == ""


def test_of_a_whole_store_the_first_rows_are_read() -> None:
    """A store of ten million keys is not loaded."""
    state = AppState(kinds(), None)
    found = state.some("pairs")
    assert (len(found.rows), found.has_more) == (200, True)
    assert not state.some("sessions").has_more
    assert "key by key" in state.some("versions").why


def test_what_cannot_be_read_says_why() -> None:
    """A store of a join, a partition that moves, a value that was compacted away."""
    made = kinds()
    state = AppState(made, None)
    assert "cannot be read" in state.of_key("join", "a").why
    assert "cannot be read" in state.some("join").why
    made.failure = NotAvailableError("partition-moving", "it moves")
    assert "it moves" in state.of_key("pairs", "k1").why
    assert "it moves" in state.some("pairs").why


def test_a_value_that_was_compacted_away_is_not_guessed() -> None:
    """The changelog has only the newer one."""
    made = application()
    for log in made.cluster.logs.values():
        del log[:-1]
    found = journey(made, 1)
    assert any("compacted away" in note for note in found.trace.notes)
    assert not any(each.is_known for step in found.trace.steps for each in step.accesses)
