"""Functions that may do anything, and processors (``islands.called_processors``).

They are called once, in the same order, with the same results.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given

import penstock as ps
from penstock.kernel.columns import column_task
from penstock.kernel.operators.topics import source_columns
from tests.properties.column_runs import (
    CONFIGS,
    EVENTS,
    ODD_EVENTS,
    SIZES,
    Event,
    Outcome,
    grid_events,
    run_graph,
)
from tests.properties.island_programs import NOTES, PROGRAMS, Build, handled, note
from tests.properties.processor_programs import (
    PROCESSOR_PROGRAMS,
    calling_others,
    scheduling_late,
)
from tests.properties.runs import FEW, SOME

ONE_SLOT = {"partitions": 1, "slots": 1, "cache": 10_000_000}
HANDLERS = {
    "deserialization.exception.handler": handled,
    "processing.exception.handler": handled,
    "default.key.serde": "string",
    "default.value.serde": "json",
}
for_each_program = pytest.mark.parametrize(
    "build", [*PROGRAMS, *PROCESSOR_PROGRAMS], ids=lambda build: build.__name__
)


def run(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any], vectorize: str
) -> tuple[Outcome, list[Any]]:
    """Run a program; return what came out, and what its functions have noted."""
    builder = ps.StreamsBuilder()
    build(builder)
    NOTES.clear()
    outcome = run_graph(builder.build().graph, events, sizes, config, vectorize, **HANDLERS)
    return outcome, [*NOTES]


def assert_same(
    build: Build,
    events: list[Event],
    sizes: list[int],
    config: dict[str, Any],
    *,
    in_order: bool = True,
) -> Outcome:
    """Run both ways, compare, and return what the run over columns gave."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(column_task, "_SHORT_RUN", 0)
        over_columns, noted = run(build, events, sizes, config, "strict")
    by_record, expected = run(build, events, sizes, config, "off")
    assert over_columns.records == by_record.records
    assert over_columns.order == by_record.order
    assert over_columns.stores == by_record.stores
    assert over_columns.dropped == by_record.dropped
    assert over_columns.clocks == by_record.clocks
    if in_order:
        assert noted == expected
    assert sorted(noted) == sorted(expected)
    return over_columns


@for_each_program
@SOME
@given(events=EVENTS, sizes=SIZES, config=CONFIGS)
def test_islands_change_nothing(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Neither the results nor what the functions and handlers do, nor in which order."""
    assert_same(build, events, sizes, config)


@for_each_program
@FEW
@given(events=ODD_EVENTS, sizes=SIZES, config=CONFIGS)
def test_odd_values_change_nothing(
    build: Build, events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """Values that cannot be read, or on which a function fails, go to the user's handlers."""
    assert_same(build, events, sizes, config)


@for_each_program
@pytest.mark.parametrize("cache", [0, 10_000_000], ids=["uncached", "cached"])
def test_large_batches_in_several_pieces_change_nothing(
    build: Build, cache: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that is given up in its third piece has called functions for two of them."""
    monkeypatch.setattr(source_columns, "_PIECE", 90)
    events = grid_events(Random(f"{build.__name__} {cache}"), 770, slowness=30)
    events[300] = Event("in", b"k1", b"no json", events[299].timestamp)
    events[700] = Event("in", b"k1", b'{"n":"x"}', events[699].timestamp)
    config = {"partitions": 1, "slots": 1, "cache": cache}
    outcome = assert_same(build, events, [330, 360, 10, 30, 40], config)
    assert outcome.reasons


@for_each_program
def test_these_programs_do_run_over_columns(build: Build) -> None:
    """The property would hold of itself if none of them did."""
    count = 2 if build is scheduling_late else 3
    events = [Event("in", b"k%d" % n, b'{"n":7,"s":"a"}', n) for n in range(count)]
    outcome, _ = run(build, events, [count], ONE_SLOT, "strict")
    assert outcome.vectorised > 0
    assert not outcome.reasons


def test_function_that_raises_is_called_once_for_each_record() -> None:
    """The batch runs by record then; what was called before is not called again."""

    def build(builder: ps.StreamsBuilder) -> None:
        def invert(value: Any) -> float:
            note(value)
            return 6 / value

        builder.stream("in", key="string", value="json").map_values(invert).to("out")

    events = [Event("in", b"k1", str(n).encode(), n) for n in (3, 2, 0, 1)]
    outcome, noted = run(build, events, [4], ONE_SLOT, "strict")
    assert [value for _, value, _, _ in outcome.records["out", b"k1"]] == [b"2.0", b"3.0", b"6.0"]
    asked = "('handler', 'KSTREAM-MAPVALUES-0000000001', 2, 'ZeroDivisionError')"
    assert noted == ["(3,)", "(2,)", "(0,)", asked, "(1,)"]
    assert outcome.vectorised == 0


@SOME
@given(events=ODD_EVENTS, sizes=SIZES, config=CONFIGS)
def test_functions_go_on_after_what_they_have_called_has_failed(
    events: list[Event], sizes: list[int], config: dict[str, Any]
) -> None:
    """A handler may leave out what failed; the other records of the same call still come."""
    assert_same(calling_others, events, sizes, config, in_order=False)
