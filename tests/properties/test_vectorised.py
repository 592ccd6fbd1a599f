"""Over columns or record at a time: the same output, changelogs, stores, drops and clocks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.columns.column_registry import vectorised_nodes
from penstock.kernel.columns.form_choice import FormChoice
from penstock.kernel.operators.topics import source_columns as column_source
from penstock.topology.nodes import Source
from tests.properties.column_programs import (
    BEHIND_A_CACHE,
    BUILDS,
    RAISING,
    Build,
    built,
    counts,
    joined,
    least,
)
from tests.properties.column_runs import (
    CONFIGS,
    EVENTS,
    ODD_EVENTS,
    SIZES,
    Event,
    assert_same,
    grid_events,
    run_graph,
)
from tests.properties.runs import FEW, SOME

ONE_SLOT = {"partitions": 1, "slots": 1, "cache": 10_000_000}
for_each_build = pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.__name__)


@for_each_build
@SOME
@given(events=EVENTS, sizes=SIZES, config=CONFIGS)
def test_columns_change_nothing(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Whatever the records, however they are cut into batches, with a cache or without."""
    assert_same(built(build).graph, events, sizes, config, may_raise=build in RAISING)


@for_each_build
@FEW
@given(events=EVENTS, sizes=SIZES, config=CONFIGS, seed=st.integers(0, 2**32 - 1))
def test_forms_that_take_turns_change_nothing(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any], seed: int
) -> None:
    """A task may go over to the other form before any batch, and back."""
    random = Random(seed)
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(FormChoice, "takes_columns", lambda *_: random.random() < 0.5)
        assert_same(built(build).graph, events, sizes, config, may_raise=build in RAISING)


@for_each_build
@FEW
@given(events=ODD_EVENTS, sizes=SIZES, config=CONFIGS)
def test_odd_values_change_nothing(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Values that cannot be read, or that an expression cannot take, go to their handlers."""
    assert_same(built(build).graph, events, sizes, config, may_raise=True)


@for_each_build
@pytest.mark.parametrize("cache", [0, 10_000_000], ids=["uncached", "cached"])
def test_large_batches_change_nothing(
    build: Build, cache: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches as large as those of production, in several pieces, and small ones after them."""
    monkeypatch.setattr(column_source, "_PIECE", 90)
    events = grid_events(Random(f"{build.__name__} {cache}"), 770, slowness=30)
    config = {"partitions": 1, "slots": 1, "cache": cache}
    sizes = [330, 360, 10, 30, 40]
    outcome = assert_same(built(build).graph, events, sizes, config, may_raise=build in RAISING)
    assert outcome.vectorised > 0 or (not cache and build in BEHIND_A_CACHE)


@for_each_build
def test_a_batch_that_is_given_up_late_leaves_nothing_behind(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last piece has a value that an expression cannot take; the next batch has none."""
    monkeypatch.setattr(column_source, "_PIECE", 20)
    events = grid_events(Random(build.__name__), 160, slowness=30)
    events[75] = Event("in", b"k1", b'{"n":"x"}', events[74].timestamp)
    assert_same(built(build).graph, events, [80], ONE_SLOT, may_raise=True)


@for_each_build
def test_these_topologies_do_run_over_columns(build: Build) -> None:
    """The property would hold of itself if none of them did."""
    events = [Event("in", b"k1", b'{"n":1,"s":"a"}', n) for n in range(3)]
    graph = built(build).graph
    assert run_graph(graph, events, [3], ONE_SLOT, "strict").vectorised > 0
    assert run_graph(graph, events, [3], ONE_SLOT, "auto").vectorised == 0


def test_every_column_form_is_among_them() -> None:
    """A form that no topology here uses would be held to nothing."""
    used = {type(node) for build in BUILDS for node in built(build).graph.nodes.values()}
    assert {*vectorised_nodes(), Source} <= used


def test_record_that_is_skipped_leaves_the_others_to_columns() -> None:
    """Its handler is asked, its dead letter is written, and the batch goes on."""
    values = [b'{"n":1}', b"no json", b'{"n":2}']
    events = [Event("in", b"k1", value, n) for n, value in enumerate(values)]
    outcome = run_graph(built(counts).graph, events, [3], ONE_SLOT, "strict")
    assert outcome.vectorised > 0
    assert [value for _, value, _, _ in outcome.records["out", b"k1"]] == [b"2"]
    assert [value for _, value, _, _ in outcome.records["dead", b"k1"]] == [b"no json"]
    assert sum(outcome.dropped.values()) == 1


@pytest.mark.parametrize("was_there", [False, True], ids=["new", "stored"])
def test_row_that_comes_and_goes_within_a_batch_was_never_there(*, was_there: bool) -> None:
    """A cache logs no tombstone of a row that its store has not seen, even if a join has."""
    value = b'{"n":1,"s":"a"}'
    before = [Event("table", b"k1", value, 0)] if was_there else [Event("in", b"k9", value, 0)]
    batch = [
        Event("table", b"k1", value, 1), Event("in", b"k1", value, 2),
        Event("table", b"k1", None, 3), Event("in", b"k1", value, 4),
    ]  # fmt: skip
    outcome = assert_same(built(joined).graph, [*before, *batch], [1, 4], ONE_SLOT)
    assert outcome.vectorised == 2
    assert [time for _, _, time, _ in outcome.records["out", b"k1"]] == [2]
    logged = [time for _, _, time, _ in outcome.records.get(("app-rows-changelog", b"k1"), [])]
    assert logged == ([0, 3] if was_there else [])


def test_aggregate_that_is_none_for_a_moment_forgets_its_time() -> None:
    """It deletes the row: the next record of the batch starts a new one, with its own time."""
    values = [(b'{"s":"a"}', 9), (b'{"n":4}', 5)]
    events = [Event("in", b"k1", value, time) for value, time in values]
    outcome = assert_same(built(least).graph, events, [2], ONE_SLOT)
    assert outcome.records["out", b"k1"] == [(0, b"4", 5, [])]
    assert dict(outcome.reasons) == {"an aggregate is None": 1}
