"""Every aggregate function: fold, merge, undo.

Exercises ``aggregates.basic``, ``by_offset``, ``aggregates.statistics`` and ``aggregates.top``.
"""

import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest

from penstock.model.sql.errors import AnalysisError, SqlTypeError
from penstock.sql.functions.aggregates.distinct import over_distinct
from penstock.sql.functions.registry import Aggregator
from tests.unit.sql.kit import FUNCTIONS, sql_type


def bind(name: str, *types: str, values: tuple[Any, ...] = (), **settings: str) -> Aggregator:
    return FUNCTIONS.bind_aggregate(name, [sql_type(t) for t in types], values, settings)


def fold(aggregator: Aggregator, rows: Iterable[Any]) -> Any:
    state = aggregator.initialize()
    for row in rows:
        state = aggregator.aggregate(state, *(row if isinstance(row, tuple) else (row,)))
    return state


def result(aggregator: Aggregator, rows: Iterable[Any]) -> Any:
    return aggregator.map(fold(aggregator, rows))


NUMBERS = [3, None, 1, 3]


@pytest.mark.parametrize(
    ("name", "types", "rows", "expected"),
    [
        ("COUNT", ["INT"], NUMBERS, 3),
        ("COUNT", [], [(), ()], 2),
        ("SUM", ["INT"], NUMBERS, 7),
        ("SUM", ["DECIMAL(4,1)"], [Decimal("1.5"), Decimal("2.5")], Decimal("4.0")),
        ("SUM", ["DOUBLE"], [], 0.0),
        ("SUM_LIST", ["ARRAY<INT>"], [[1, 2], None, [3, None]], 6),
        ("AVG", ["BIGINT"], NUMBERS, 7 / 3),
        ("AVG", ["DOUBLE"], [], 0.0),
        ("MIN", ["INT"], NUMBERS, 1),
        ("MAX", ["STRING"], ["a", "c", None], "c"),
        ("COLLECT_LIST", ["INT"], NUMBERS, NUMBERS),
        ("COLLECT_SET", ["INT"], NUMBERS, [3, None, 1]),
        ("COLLECT_SET", ["MAP<STRING, INT>"], [{"a": 1}, {"a": 1}], [{"a": 1}]),
        ("HISTOGRAM", ["STRING"], ["a", "b", "a"], {"a": 2, "b": 1}),
        ("ATTR", ["INT"], [5, 5], 5),
        ("ATTR", ["INT"], [5, None], None),
        ("COUNT_DISTINCT", ["INT"], NUMBERS, 2),
        ("CORRELATION", ["DOUBLE", "DOUBLE"], [(1.0, 2.0), (2.0, 4.0), (None, 9.0)], 1.0),
        ("STDDEV_SAMP", ["INT"], [0, 10, None], 50.0),
        ("STDDEV_SAMPLE", ["INT"], [0, 10], math.sqrt(50)),
        ("STDDEV_SAMPLE", ["INT"], [0], 0.0),
        ("LATEST_BY_OFFSET", ["INT"], [1, 2, None], 2),
        ("EARLIEST_BY_OFFSET", ["INT"], [None, 1, 2], 1),
    ],
)
def test_results(name: str, types: list[str], rows: list[Any], expected: Any) -> None:
    """Each function folds these rows to this value."""
    assert result(bind(name, *types), rows) == expected


@pytest.mark.parametrize(
    ("name", "types", "values", "rows", "expected"),
    [
        ("TOPK", ["INT", "INT"], (None, 2), [1, None, 3, 3], [3, 3]),
        ("TOPKDISTINCT", ["INT", "INT"], (None, 2), [1, 3, 3], [3, 1]),
        ("LATEST_BY_OFFSET", ["INT", "INT"], (None, 2), [1, 2, None, 3], [2, 3]),
        ("LATEST_BY_OFFSET", ["INT", "BOOLEAN"], (None, False), [1, None], None),
        ("EARLIEST_BY_OFFSET", ["INT", "INT"], (None, 2), [1, 2, 3], [1, 2]),
        ("EARLIEST_BY_OFFSET", ["INT", "INT", "BOOLEAN"], (None, 2, False), [None, 1], [None, 1]),
        ("EARLIEST_BY_OFFSET", ["INT", "BOOLEAN"], (None, False), [None, 1], None),
    ],
)
def test_results_with_literals(
    name: str, types: list[str], values: tuple[Any, ...], rows: list[Any], expected: Any
) -> None:
    """The last arguments are literals: a size, or whether NULLs are ignored."""
    assert result(bind(name, *types, values=values), rows) == expected


def test_topk_keeps_rows_of_several_columns() -> None:
    """With more columns TOPK gives structs, the earlier of equal rows first."""
    aggregator = bind("TOPK", "INT", "STRING", "INT", values=(None, None, 2))
    assert str(aggregator.type) == "ARRAY<STRUCT<`sort_col` INTEGER, `col0` STRING>>"
    rows = [(1, "a"), (2, "b"), (2, "c")]
    assert result(aggregator, rows) == [
        {"sort_col": 2, "col0": "b"},
        {"sort_col": 2, "col0": "c"},
    ]


UNDOABLE = {
    "COUNT": ["INT"],
    "SUM": ["INT"],
    "AVG": ["INT"],
    "COLLECT_LIST": ["INT"],
    "ATTR": ["INT"],
    "STDDEV_SAMP": ["INT"],
    "STDDEV_SAMPLE": ["INT"],
    "HISTOGRAM": ["STRING"],
    "SUM_LIST": ["ARRAY<INT>"],
    "CORRELATION": ["DOUBLE", "DOUBLE"],
}
SAMPLES: dict[str, list[Any]] = {
    "HISTOGRAM": ["a", "b", "a"],
    "SUM_LIST": [[1], [2, 3], [4]],
    "CORRELATION": [(1.0, 2.0), (2.0, 1.0), (5.0, 7.0)],
}


@pytest.mark.parametrize("name", sorted(UNDOABLE))
def test_undo_takes_a_value_back(name: str) -> None:
    """A table takes back the old value of a key: afterwards it is as if it had never come."""
    aggregator = bind(name, *UNDOABLE[name])
    rows = SAMPLES.get(name, [1, 2, 2])
    last = rows[-1] if isinstance(rows[-1], tuple) else (rows[-1],)
    assert aggregator.undo is not None
    undone = aggregator.undo(fold(aggregator, rows), *last)
    assert aggregator.map(undone) == pytest.approx(result(aggregator, rows[:-1]))


def test_only_these_can_undo() -> None:
    """ksqlDB refuses every other aggregate on a table."""
    types = {"COUNT_DISTINCT": ["INT"], "MIN": ["INT"], "MAX": ["INT"], "COLLECT_SET": ["INT"]}
    assert all(bind(name, *given).undo is None for name, given in types.items())


@pytest.mark.parametrize("name", sorted({*UNDOABLE, "MIN", "MAX", "COLLECT_SET", "COUNT_DISTINCT"}))
def test_merge_equals_one_fold(name: str) -> None:
    """Sessions that grow together have the state of one session."""
    aggregator = bind(name, *UNDOABLE.get(name, ["INT"]))
    aggregator = aggregator.in_sessions or aggregator
    rows = SAMPLES.get(name, [4, 1, 9, 1])
    merged = aggregator.merge(fold(aggregator, rows[:2]), fold(aggregator, rows[2:]))
    assert aggregator.map(merged) == pytest.approx(result(aggregator, rows))


def test_merged_sessions_know_which_value_came_last() -> None:
    """The order of arrival survives a merge, whichever side it is on."""
    for name, expected in (("LATEST_BY_OFFSET", 2), ("EARLIEST_BY_OFFSET", 1)):
        aggregator = bind(name, "INT").in_sessions
        assert aggregator is not None
        first, second = fold(aggregator, [1]), fold(aggregator, [2])
        assert aggregator.map(aggregator.merge(second, first)) == expected
        assert aggregator.map(aggregator.merge(first, aggregator.initialize())) == 1


@pytest.mark.parametrize("name", ["LATEST_BY_OFFSET", "EARLIEST_BY_OFFSET"])
def test_states_are_the_same_whenever_they_are_computed(name: str) -> None:
    """What is computed again after a failure must not differ from what was there before."""
    for aggregator in (bind(name, "INT"), bind(name, "INT", "INT", values=(None, 2))):
        assert fold(aggregator, [4, 1, 9]) == fold(aggregator, [4, 1, 9])


def test_states_are_never_changed_in_place() -> None:
    """A store may still hold the old state."""
    for name in ("COLLECT_LIST", "COLLECT_SET", "ATTR", "COUNT_DISTINCT"):
        aggregator = bind(name, "INT")
        old = fold(aggregator, [1, 2])
        before = repr(old)
        aggregator.aggregate(old, 3)
        assert repr(old) == before


def test_limits_come_from_settings() -> None:
    """Collections stop growing at 1000 members, or at the limit that is set."""
    limited = bind("COLLECT_LIST", "INT", **{"ksql.functions.collect_list.limit": "1"})
    assert result(limited, [1, 2]) == [1]
    assert len(result(bind("COLLECT_LIST", "INT"), range(1200))) == 1000


def test_count_distinct_estimates_large_sets() -> None:
    """Beyond its sketch the count is near the truth."""
    assert result(bind("COUNT_DISTINCT", "INT"), range(2000)) == 2000
    assert abs(result(bind("COUNT_DISTINCT", "INT"), range(6000)) - 6000) < 600


def test_arguments_are_converted_to_what_the_function_takes() -> None:
    """A DECIMAL is averaged as a DOUBLE, and an INT correlates with a DOUBLE."""
    assert result(bind("AVG", "DECIMAL(3,1)"), [Decimal("1.5"), Decimal("2.5"), None]) == 2.0
    correlation = bind("CORRELATION", "INT", "DOUBLE")
    assert result(correlation, [(1, 2.0), (2, 4.0)]) == 1.0
    assert correlation.undo is not None
    assert correlation.arity == 2
    assert bind("TOPK", "INT", "INT", values=(None, 3)).arity == 1


def test_exact_count_of_distinct_values() -> None:
    """In one row, COUNT(DISTINCT x) is exact, merges and undoes."""
    aggregator = over_distinct(bind("COUNT", "ARRAY<INT>"), sql_type("ARRAY<INT>"))
    state = fold(aggregator, [[1], [2], None, [1]])
    assert aggregator.map(state) == 2
    assert aggregator.undo is not None
    assert aggregator.map(aggregator.undo(state, [1])) == 2
    assert aggregator.map(aggregator.undo(aggregator.undo(state, [1]), [1])) == 1
    assert aggregator.map(aggregator.merge(state, fold(aggregator, [[3]]))) == 3


def test_wrong_calls_are_refused() -> None:
    """An unknown function, wrong types, a size of 0 and a missing literal are errors."""
    with pytest.raises(AnalysisError, match="unknown-function"):
        bind("SUMM", "INT")
    with pytest.raises(SqlTypeError, match="no-such-overload"):
        bind("SUM", "STRING")
    with pytest.raises(SqlTypeError, match="bad-argument"):
        bind("TOPK", "INT", "INT", values=(None, 0))
    with pytest.raises(SqlTypeError, match="aggregate-needs-literal"):
        bind("TOPK", "INT", "INT", values=(None, None))


def test_sums_that_do_not_fit_are_errors() -> None:
    """A sum beyond its type stops the query, as in ksqlDB, instead of turning negative."""
    with pytest.raises(ArithmeticError):
        fold(bind("SUM", "BIGINT"), [2**63 - 1, 1])
    with pytest.raises(ArithmeticError):
        fold(bind("SUM", "DECIMAL(3,1)"), [Decimal("50.9"), Decimal("50.8")])
