"""When a batch over columns ends early, and when it is not tried at all."""

from __future__ import annotations

from collections.abc import Sequence

import penstock as ps
from penstock.kernel.raw_columns import RawColumns
from tests.properties.cut_runs import CutRun


def run_of_least() -> CutRun:
    """A task whose store cannot hold the least of no numbers: columns find out at the end."""
    builder = ps.StreamsBuilder()
    grouped = builder.stream("in", key="string", value="json").group_by_key()
    grouped.aggregate(ps.min_(ps.col("n")), materialized="least", value_serde="json")
    graph = builder.build().graph
    return CutRun(graph, extractor="FailOnInvalidTimestamp", vectorize="on")


def columns(values: Sequence[bytes]) -> RawColumns:
    return RawColumns("in", 0, range(len(values)), range(len(values)), [b"k"] * len(values), values)


def test_stop_is_asked_after_a_first_small_piece_and_between_pieces() -> None:
    """A slow function shows in the first; the others are large, since each costs a little."""
    run, asked = run_of_least(), []

    def stop() -> bool:
        asked.append(len(asked))
        return len(asked) == 3

    given = [("in", columns([b'{"n":1}'] * 20_000))]
    assert run.task.run_batch(given, stop=stop) == {"in": 10_500}
    assert run.task.columns is not None
    assert run.task.columns.batches == 1


def test_a_batch_that_fits_into_one_piece_is_not_cut() -> None:
    """It would be asked about when all is done."""
    given = [("in", columns([b'{"n":1}'] * 500))]
    assert run_of_least().task.run_batch(given, stop=lambda: True) == {"in": 500}


def test_a_batch_given_up_too_late_lets_the_next_one_run_by_record() -> None:
    """Else every batch would use up its time over columns and then do a single record."""
    run, given = run_of_least(), [("in", columns([b"{}"] * 300))]
    tried = run.task.columns
    assert tried is not None
    assert run.task.run_batch(given, stop=lambda: True) == {"in": 1}
    assert tried.reasons.total() == 1
    assert run.task.run_batch(given, stop=iter([False] * 20 + [True] * 9).__next__) == {"in": 176}
    assert tried.reasons.total() == 1
    run.task.run_batch(given)
    assert tried.reasons.total() == 2
