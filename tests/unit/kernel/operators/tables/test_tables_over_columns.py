"""What tables send when a batch runs over columns: old values, moves between groups, tombstones.

Exercises ``suppress_columns``, ``derived_columns``, ``stored_table``, ``change_columns``,
``table_group_by_columns`` and ``table_aggregate_columns``; the results are held to those of records
in ``tests/properties``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.testing import TopologyTestDriver
from tests.unit.kernel.columns.test_planner import planned

Build = Callable[[ps.StreamsBuilder], None]
Input = tuple[str, Any]


def rows(builder: ps.StreamsBuilder, **materialized: Any) -> ps.KTable[str, Any]:
    options = ps.Materialized(name="rows", key="string", value="json", **materialized)
    return builder.table("in", materialized=options, key="string", value="json")


def out(table: ps.KTable[Any, Any], serde: str = "json") -> None:
    table.to_stream().to("out", key="string", value=serde)


def run(build: Build, *batches: list[Input]) -> list[list[Input]]:
    """Run batches over columns; return what each of them writes."""
    builder = ps.StreamsBuilder()
    build(builder)
    written = []
    with TopologyTestDriver(builder.build(), engine="columns") as driver:
        for batch in batches:
            driver.pipe_batch({"in": batch})
            written.append(driver.read_key_values("out"))
        assert {str(each) for each in driver.batches if not each.ran_over_columns} == set()
    return written


def test_row_that_fails_again_is_no_change() -> None:
    """The cache knows that later nodes have never seen it."""

    def build(builder: ps.StreamsBuilder) -> None:
        out(rows(builder).filter(ps.value > 1, "kept"))

    first, second = run(build, [("a", 1), ("b", 2)], [("a", 0), ("b", 1), ("c", 3)])
    assert first == [("b", 2)]
    assert second == [("b", None), ("c", 3)]


def test_rows_that_pass_and_fail_within_a_batch_send_each_change_without_a_cache() -> None:
    """A stored filter compares with its own row, which the batch has changed."""

    def build(builder: ps.StreamsBuilder) -> None:
        kept = ps.Materialized(name="kept", caching=False, key="string", value="json")
        filtered = rows(builder, caching=False).filter(ps.value > 1, kept)
        out(filtered.map_values(ps.value * 10))

    (written,) = run(build, [("a", 1), ("a", 2), ("a", 3), ("a", 1), ("a", 0), ("a", 4)])
    assert written == [("a", 20), ("a", 30), ("a", None), ("a", 40)]


def test_row_that_moves_leaves_its_group_first() -> None:
    """One that stays in its group is one change of it."""

    def build(builder: ps.StreamsBuilder) -> None:
        grouped = rows(builder, caching=False).group_by(
            lambda key, value: (value["g"], value["n"]), key="string", value="json"
        )
        totals = ps.Materialized(name="totals", caching=False, key="string", value="json")
        out(grouped.reduce(lambda one, n: one + n, lambda one, n: one - n, totals))

    one, other = {"g": "x", "n": 1}, {"g": "y", "n": 2}
    (written,) = run(build, [("a", one), ("a", {"g": "x", "n": 5}), ("b", other), ("a", other)])
    assert written == [("x", 1), ("x", 5), ("y", 2), ("x", 0), ("y", 4)]


def test_group_whose_aggregate_is_none_starts_anew() -> None:
    """Its row is deleted, and its tombstone is sent; the next row calls the initializer."""

    def build(builder: ps.StreamsBuilder) -> None:
        grouped = rows(builder).group_by(lambda key, n: ("all", n), key="string", value="long")
        out(
            grouped.aggregate(
                lambda: 100, lambda key, n, sum_: sum_ + n,
                lambda key, n, sum_: sum_ - n if sum_ - n > 100 else None, "sums",
                value="long",
            ),
            "long",
        )  # fmt: skip

    assert run(build, [("a", 1)], [("a", None)], [("a", 2)]) == [
        [("all", 101)], [("all", None)], [("all", 102)],
    ]  # fmt: skip


def test_group_that_comes_and_goes_within_a_batch_was_never_there() -> None:
    """Behind a cache, nobody has seen it."""

    def build(builder: ps.StreamsBuilder) -> None:
        uncached = rows(builder, caching=False)
        grouped = uncached.group_by(lambda key, n: (str(n), ""), value="string")
        out(grouped.reduce(lambda one, _: one, lambda one, _: None, "groups"), "string")

    assert run(build, [("a", 1), ("a", None)], [("a", 2)]) == [[], [("2", "")]]


def test_count_of_groups_decodes_no_values() -> None:
    """Only whether there is an old value, and a new one, matters."""

    def build(builder: ps.StreamsBuilder) -> None:
        grouped = rows(builder).group_by(lambda key, n: (str(n % 2), n), value="json")
        out(grouped.count("counts"), "long")

    assert run(build, [("a", 1), ("b", 2), ("c", 3)], [("a", 2)]) == [
        [("0", 1), ("1", 2)], [("1", 1), ("0", 2)],
    ]  # fmt: skip


@pytest.mark.parametrize("result", ["text", 7])
def test_group_by_that_returns_no_pair_runs_by_record(result: Any) -> None:
    """The error names the record."""
    builder = ps.StreamsBuilder()
    rows(builder).group_by(lambda key, value: result, value="json").count("counts")
    config = {"processing.exception.handler": "continue"}
    with TopologyTestDriver(builder.build(), config, engine="columns") as driver:
        driver.pipe_batch({"in": [("a", 1)]})
        assert "group_by returned something other than pairs" in str(driver.batches[0])
        assert driver.dropped_records.total() == 1


def test_changes_of_versioned_tables_stay_with_records() -> None:
    """They may be out of order."""

    def build(builder: ps.StreamsBuilder) -> None:
        store = ps.Stores.persistent_versioned_key_value_store("rows", "1h")
        options = ps.Materialized(store=store, key="string", value="json")
        table = builder.table("in", materialized=options)
        table.group_by(lambda key, value: (key, value), value="json").count("counts")

    assert "its store is versioned" in planned(build).why_not.values()
