"""Every kind of expression over columns gives what it gives record by record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.expr.expression import Expression
from penstock.kernel.columns import evaluate as module
from penstock.kernel.columns.batch_column import BatchColumn, DictionaryBatchColumn, WindowedColumn
from penstock.kernel.columns.evaluate import evaluate, evaluated
from penstock.model.user_code import UserCodeError
from penstock.model.windows.windowed import Window, Windowed

n, m, s = ps.col("n"), ps.col("m"), ps.col("s")
EXPRESSIONS: dict[str, Expression] = {
    "literal": ps.lit(3),
    "key": ps.key,
    "value": ps.value,
    "field": n,
    "nested": ps.col("d")["x"],
    "add": n + 1, "subtract": n - m, "multiply": n * m,
    "divide": n / m, "divide by zero": n / 0, "divide by a number": n / 2,
    "floor": n // m, "floor by zero": n // 0, "modulo": n % m, "modulo by zero": n % 0,
    "equal": n == m, "equal to a number": n == 1, "equal to none": n == None,  # noqa: E711
    "different": n != m, "less": n < m, "less or equal": n <= m,
    "greater": n > m, "greater or equal": n >= m, "greater than a number": n > 1,
    "and": (n > 1) & (m > 0), "or": (n > 1) | (m > 0), "not": ~(n > 1),
    "null": n.is_null(), "known": n.is_not_null(), "filled": n.fill_null(7),
    "among": n.is_in([1, 2]),
    "cast": n.cast(str),
    "split": s.split(","), "upper": s.upper(), "lower": s.lower(),
    "choice": ps.when(n > 1).then("many").otherwise("few"),
    "choice of fields": ps.when(n > 1).then(s).otherwise(m),
    "choice of one field": ps.when(n > 1).then("many").otherwise(s),
    "struct": ps.struct(a=n, b=s), "struct of one": ps.struct(a=n), "empty struct": ps.struct(),
    "with fields": ps.value.with_fields(a=n, n=m), "with no fields": ps.value.with_fields(),
}  # fmt: skip
ROWS: list[Any] = [
    {"n": 1, "m": 2, "s": "a,b", "d": {"x": 1}},
    {"n": 2, "m": 2, "s": "Ab", "d": None},
    {"n": 3, "m": 0, "s": "", "d": {}},
    {"n": -1, "m": 0.5, "s": ","},
    {"n": None, "m": 1, "s": None},
    {"m": None},
    {},
]


def same(found: Any, expected: Any) -> None:
    assert [*found] == expected
    assert [*map(type, found)] == [*map(type, expected)]


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("rows", [ROWS, ROWS[:2], [*ROWS, None], []], ids=str)
def test_columns_give_what_records_give(name: str, rows: list[Any]) -> None:
    expression = EXPRESSIONS[name]
    keys = [f"k{number}" for number in range(len(rows))]
    expected = [expression(key, value) for key, value in zip(keys, rows, strict=True)]
    same(evaluate(expression, BatchColumn(keys), BatchColumn(rows)), expected)


def test_structs_of_a_column_are_objects_of_their_own() -> None:
    """What one record does to its value is not seen by another."""
    made = evaluate(ps.struct(), BatchColumn(["a", "b"]), BatchColumn([1, 2]))
    assert made[0] is not made[1]
    rows = [{"n": 1}, {"n": 2}]
    copied = evaluate(ps.value.with_fields(), BatchColumn(["a", "b"]), BatchColumn(rows))
    assert copied == rows
    assert all(one is not other for one, other in zip(copied, rows, strict=True))


@pytest.mark.parametrize("name", ["key", "start", "end", "size"])
def test_fields_of_windowed_keys(name: str) -> None:
    """The field of a window is found without making the keys, if it is one of the known three."""
    keys = [Windowed("a", Window(0, 10)), Windowed("b", Window(5, 15))]
    column = WindowedColumn(BatchColumn(["a", "b"]), [0, 5], 10)
    expression = ps.key[name]
    try:
        expected = [expression(key, None) for key in keys]
    except Exception as error:  # noqa: BLE001 - then columns raise it as well
        with pytest.raises(type(error)):
            evaluate(expression, column, BatchColumn([None, None]))
        return
    same(evaluate(expression, column, BatchColumn([None, None])), expected)


def test_only_the_key_is_looked_at_for_windows() -> None:
    column = WindowedColumn(BatchColumn(["a"]), [5], 10)
    same(evaluate(ps.value["start"], column, BatchColumn([{"start": 1}])), [1])


def test_left_and_right_are_the_values_of_a_join() -> None:
    left, right = BatchColumn([{"n": 1}, {"n": 2}]), BatchColumn([{"n": 5}, None])
    same(evaluate(ps.left["n"], left, right), [1, 2])
    same(evaluate(ps.struct(l=ps.left["n"], r=ps.right), left, right), [
        {"l": 1, "r": {"n": 5}}, {"l": 2, "r": None},
    ])  # fmt: skip


def test_fields_of_coded_values() -> None:
    column = DictionaryBatchColumn(np.array([1, 0, -1]), BatchColumn([{"n": 4}, {"n": 5}]))
    same(evaluate(n, BatchColumn([1, 2, 3]), column), [5, 4, None])


MIXED = BatchColumn([{"n": 1, "m": "x"}, {"n": 2, "m": 2}])


@pytest.mark.parametrize(
    "expression",
    [m + 1, ps.when(n > 1).then(m + 1).otherwise(0), ps.when(m > 1).then(1).otherwise(m)],
)
def test_an_error_of_a_single_record_is_one_of_user_code(expression: Expression) -> None:
    """Also in an operand that the record does not need: record at a time decides about it."""
    with pytest.raises(UserCodeError, match="an expression raised TypeError"):
        evaluated(expression, BatchColumn(["a", "b"]), MIXED)


def test_fields_of_a_missing_object_fail_as_user_code() -> None:
    values = BatchColumn([None, {"n": 2}])
    expression = ps.value.with_fields(a=ps.key + 1)
    with pytest.raises(UserCodeError, match="an expression raised TypeError"):
        evaluated(expression, BatchColumn(["a", 2]), values)


@pytest.mark.parametrize(
    "expression",
    [n + 1, ps.when(n > 1).then(n + 1).otherwise(n), ps.value.with_fields(a=n + 1)],
)
def test_an_error_that_no_single_record_has_is_a_fault(
    expression: Expression, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken for user code, it would only make every batch slow."""

    def faulty(items: Any, constant: Any) -> Any:
        raise TypeError("a fault")

    monkeypatch.setitem(module._WITH_CONSTANT, "+", faulty)
    with pytest.raises(TypeError, match="a fault"):
        evaluated(expression, BatchColumn(["a", "b"]), BatchColumn([{"n": 1}, {"n": 2}]))
