"""Functions with side effects between columns: when they are called, and what is replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.errors import StreamsError
from penstock.kernel.operators.topics import source_columns
from penstock.kernel.raw_columns import RawColumns
from tests.properties.cut_runs import CutRun


class Run(CutRun):
    """A task with one function, and what it was called with."""

    def __init__(self, fn: Callable[[Any], Any], on_processing: str = "fail") -> None:
        self.seen: list[Any] = []

        def called(value: Any) -> Any:
            self.seen.append(value)
            return fn(value)

        builder = ps.StreamsBuilder()
        mapped = builder.stream("in", key="string", value="json").map_values(called, "fn")
        mapped.map_values(ps.value + 1).to("out", value="json")
        super().__init__(
            builder.build().graph,
            extractor="FailOnInvalidTimestamp",
            vectorize="strict",
            on_processing=on_processing,
        )

    def take(self, values: list[bytes], **given: Any) -> int:
        columns = RawColumns(
            "in", 0, range(len(values)), range(len(values)), [b"k"] * len(values), values
        )
        return self.task.run_batch([("in", columns)], **given)["in"]

    @property
    def written(self) -> list[bytes | None]:
        return [value for topic, _, value, _ in self.sent if topic == "out"]


def numbers(*given: int) -> list[bytes]:
    return [b"%d" % number for number in given]


def test_first_piece_of_a_hurried_batch_is_one_record() -> None:
    """A function that may do anything may also take long; each piece is twice as large."""
    run = Run(lambda value: value)
    assert run.take(numbers(*range(50)), stop=lambda: True) == 1
    assert run.take(numbers(*range(50)), stop=iter([False, False, True]).__next__) == 1 + 2 + 4
    assert run.seen == [0, *range(7)]


def test_batch_that_is_given_up_calls_no_function_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The expression behind the function fails in the second piece."""
    monkeypatch.setattr(source_columns, "_PIECE", 3)
    run = Run(lambda value: "text" if value == 4 else value)
    with pytest.raises(StreamsError, match="KSTREAM-MAPVALUES"):
        run.take(numbers(*range(9)))
    assert run.seen == [0, 1, 2, 3, 4, 5]
    assert run.written == numbers(1, 2, 3, 4)


def test_batch_ends_behind_the_records_whose_functions_were_called() -> None:
    """They were called for 63 records when one failed. Time is up, but no call may be repeated."""
    run = Run(lambda value: value, on_processing="continue")
    values = [*numbers(*range(60)), b'"text"', *numbers(*range(60))]
    stop = iter([False] * 6 + [True] * 99).__next__
    # Record by record, it is asked after 16 records, and then after every 32nd.
    assert run.take(values, stop=stop) == 16 + 32 + 32
    assert run.seen == [*range(60), "text", *range(19)]
    assert run.written == numbers(*range(1, 61), *range(1, 20))


def test_error_names_the_node_and_the_record() -> None:
    """As if the batch had run by record from the beginning."""
    run = Run(lambda value: 6 // value)
    with pytest.raises(StreamsError) as raised:
        run.take(numbers(3, 2, 0, 1))
    message = str(raised.value)
    assert "map_values 'fn' at " in message
    assert "offset 2" in message
    assert "value: 0" in message
    assert run.seen == [3, 2, 0]
    assert run.written == numbers(3, 4)


def test_next_batch_calls_the_functions_again() -> None:
    """What was noted belongs to its own batch, also if that has failed."""
    run = Run(lambda value: 6 // value)
    assert run.take(numbers(3, 2)) == 2
    with pytest.raises(StreamsError):
        run.take(numbers(1, 0))
    assert run.take(numbers(6)) == 1
    assert run.seen == [3, 2, 1, 0, 6]
    assert run.written == numbers(3, 4, 7, 2)
