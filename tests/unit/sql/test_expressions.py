"""Expressions: types, NULLs, Java's arithmetic, access to parts, errors with their place.

Exercises ``expressions.access``, ``expressions.arithmetic``, ``expressions.cases``,
``expressions.coercion``, ``expressions.comparison``, ``expressions.compiler``,
``expressions.literals``, ``expressions.predicates``, ``expressions.scope``, ``ast.chains`` and
``format_expression``.
"""

import math
from decimal import Decimal
from typing import Any

import pytest

from penstock.model.sql.errors import AnalysisError, SqlError, SqlTypeError
from penstock.model.sql.types import BIGINT
from penstock.sql.expressions import Column, Scope, compile_condition, compile_expression
from penstock.sql.syntax.parser import parse_expression
from tests.unit.sql.kit import FUNCTIONS, compiled, evaluate, scope_of, type_of, value_of


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("2147483647 + 1", -(2**31)),
        ("2147483648 + 1", 2**31 + 1),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7 / 2.0", Decimal("3.5")),
        ("1 / 0", None),
        ("1e0 / 0", math.inf),
        ("1.10 + 2.205", Decimal("3.305")),
        ("10.0 / 3.0", Decimal("3.333333")),
        ("'a' + 'b'", "ab"),
        ("'a' || CAST(NULL AS STRING) || 'b'", "ab"),
        ("- (1.50)", Decimal("-1.50")),
        ("-(-2147483648)", -2147483648),
    ],
)
def test_arithmetic(text: str, result: Any) -> None:
    """Whole numbers wrap and cut, decimals are exact, a failure is NULL."""
    assert value_of(text) == result


def test_decimal_literals_take_the_digits_they_have() -> None:
    """The digits of a literal are its type."""
    assert type_of("1.20") == "DECIMAL(3, 2)"
    assert type_of("0.05") == "DECIMAL(2, 2)"
    assert type_of("5") == "INTEGER"
    assert type_of("2147483648") == "BIGINT"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("A = 1", False),
        ("A <> 1", False),
        ("NOT (A = 1)", True),
        ("A IS NULL", True),
        ("A IS DISTINCT FROM 1", True),
        ("A IS NOT DISTINCT FROM A", True),
        ("A BETWEEN 1 AND 2", False),
        ("A NOT BETWEEN 1 AND 2", True),
        ("A IN (1, 2)", False),
        ("A NOT IN (1, 2)", True),
        ("A + 1", None),
        ("B AND FALSE", False),
        ("B AND TRUE", None),
        ("B OR TRUE", True),
        ("B OR FALSE", None),
        ("NOT B", None),
        ("S LIKE '%'", None),
        ("CASE WHEN B THEN 1 ELSE 2 END", 2),
    ],
)
def test_nulls(text: str, result: Any) -> None:
    """Comparisons with NULL are false as in ksqlDB; AND, OR and NOT know unknown."""
    columns = {"A": "INT", "B": "BOOLEAN", "S": "STRING"}
    assert evaluate(text, columns, None, None, None) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1.1E0 = 1.1", True),
        ("1 < 1.5", True),
        ("'a' < 'b'", True),
        ("DATE '1970-01-02' > '1970-01-01'", True),
        ("DATE '1970-01-02' = TIMESTAMP '1970-01-02T00:00:00'", True),
        ("TIME '00:00:01' = '00:00:01'", True),
        ("ARRAY[1, 2] = ARRAY[1, 2]", True),
        ("STRUCT(A := 1) <> STRUCT(A := 2)", True),
        ("'a_c' LIKE 'a!_c' ESCAPE '!'", True),
        ("'abc' LIKE 'a!_c' ESCAPE '!'", False),
        ("'a\nc' LIKE 'a%c'", False),
        ("'a.c' NOT LIKE 'a_c'", False),
        ("2 IN (1, '2.0')", True),
        ("'2' IN (1, 2)", True),
        ("TRUE IN ('no', 'yes')", True),
        ("ARRAY[3] IN (ARRAY['3'], ARRAY[4])", True),
    ],
)
def test_comparisons(text: str, result: bool) -> None:
    """Sides are compared in the type they have in common."""
    assert value_of(text) is result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("ARRAY['a', 'b'][1]", "a"),
        ("ARRAY['a', 'b'][-1]", "b"),
        ("ARRAY['a', 'b'][0]", None),
        ("ARRAY['a', 'b'][3]", None),
        ("ARRAY['a', 'b'][-3]", None),
        ("MAP('k' := 1)['k']", 1),
        ("MAP('k' := 1)['x']", None),
        ("STRUCT(A := 1, `b` := 'x')->`b`", "x"),
        ("CAST(NULL AS STRUCT<A INT>)->A", None),
        ("STRUCT()", {}),
        ("ARRAY[1, 1 / 0, NULL]", [1, None, None]),
        ("ARRAY[1, '2', 3.5]", [Decimal("1.0"), Decimal("2.0"), Decimal("3.5")]),
        ("ARRAY['1', 2, TRUE]", ["1", "2", "true"]),
        ("TIMESTAMP '1970-01-01T00:00:00' AT TIME ZONE 'Asia/Tokyo'", 9 * 3_600_000),
        ("CASE 3 WHEN 1 THEN 'one' WHEN 3 THEN 'three' END", "three"),
        ("CASE WHEN FALSE THEN 1 END", None),
        ("CASE WHEN TRUE THEN 1 ELSE 1 / 0 END", 1),
        ("COALESCE(PARSE_DATE('x', 'yyyy'), PARSE_DATE('1970', 'yyyy'))", 0),
        ("COALESCE(CAST('x' AS INT), 5)", 5),
        ("CAST('x' AS INT) IS NULL", True),
        ("CAST(NULL AS STRING) + 'x'", "nullx"),
        ("CAST(NULL AS STRING) || 'x'", "x"),
        ("'a!' LIKE 'a!' ESCAPE '!'", None),
    ],
)
def test_parts_and_branches(text: str, result: Any) -> None:
    """Arrays count from 1 and from the end; a member that fails is NULL, the rest stays."""
    assert value_of(text) == result


def test_row_time_is_compared_with_text() -> None:
    """ROWTIME and the window bounds are BIGINTs that understand ISO text, even cut short."""
    columns = {"ROWTIME": "BIGINT"}
    assert evaluate("ROWTIME >= '1970-01-01T00:00:01'", columns, 1000) is True
    assert evaluate("ROWTIME BETWEEN '1970' AND '1971'", columns, 5) is True
    with pytest.raises(SqlTypeError, match="bad-timestamp"):
        compiled("ROWTIME > 'yesterday'", ROWTIME="BIGINT")


def test_lambdas_see_the_row_and_outer_parameters() -> None:
    """A lambda's body may use columns, its own parameters and those around it."""
    text = "TRANSFORM(XS, X => REDUCE(XS, 0, (S, Y) => S + X * Y) + N)"
    columns = {"N": "INT", "XS": "ARRAY<INT>"}
    assert evaluate(text, columns, 100, [1, 2]) == [103, 106]
    assert evaluate("TRANSFORM(XS, X => X + 1)", columns, 0, [1, None]) is None
    assert evaluate("FILTER(XS, N => N > 1)", columns, 9, [1, 2]) == [2]


def test_names_resolve_by_source() -> None:
    """A name in two sources needs its source; an unknown one gets advice."""
    columns = (Column("ID", BIGINT, "A"), Column("ID", BIGINT, "B"), Column("AGE", BIGINT, "B"))
    scope = Scope(columns, FUNCTIONS)
    assert compile_expression(parse_expression("B.ID"), scope).evaluate([1, 2, 3]) == 2
    for text, code in [
        ("ID", "ambiguous-column"),
        ("AGEE", "unknown-column"),
        ("C.ID", "unknown-source"),
        ("A.AGE", "unknown-column"),
    ]:
        with pytest.raises(AnalysisError) as caught:
            compile_expression(parse_expression(text), scope)
        assert caught.value.code == code
        assert caught.value.span is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 + TRUE", "no-such-operation"),
        ("-'a'", "no-such-operation"),
        ("1 || 2", "no-such-operation"),
        ("NULL = 1", "cannot-compare"),
        ("1 = 'a'", "cannot-compare"),
        ("ARRAY[1] < ARRAY[2]", "cannot-compare"),
        ("TRUE < FALSE", "cannot-compare"),
        ("1 AND TRUE", "wrong-type"),
        ("1 LIKE 'a'", "wrong-type"),
        ("1 IN (1, 'x')", "bad-literal"),
        ("1 IN (TRUE)", "mixed-types"),
        ("ARRAY[1, TRUE]", "mixed-types"),
        ("ARRAY[]", "empty-constructor"),
        ("MAP()", "empty-constructor"),
        ("ARRAY[NULL]", "unknown-null-type"),
        ("MAP(NULL := 1)", "unknown-null-type"),
        ("STRUCT(A := NULL)", "unknown-null-type"),
        ("STRUCT(A := 1, A := 2)", "duplicate-field"),
        ("STRUCT(A := 1)->B", "unknown-field"),
        ("1->B", "not-a-struct"),
        ("1[1]", "not-a-collection"),
        ("ARRAY[1]['a']", "wrong-index"),
        ("MAP('a' := 1)[1]", "wrong-index"),
        ("CASE WHEN TRUE THEN NULL END", "unknown-null-type"),
        ("CASE WHEN TRUE THEN 1 ELSE 'a' END", "mixed-case-types"),
        ("CASE WHEN 1 THEN 1 END", "condition-not-boolean"),
        ("CAST('a' AS MAP<STRING, INT>)", "no-such-cast"),
        ("CAST(1 AS NOTHING)", "unknown-type"),
        ("DATE 'x'", "bad-literal"),
        ("INT '1'", "unknown-literal"),
        ("NO_SUCH(1)", "unknown-function"),
        ("SUM(1)", "misplaced-aggregate"),
        ("EXPLODE(ARRAY[1])", "misplaced-table-function"),
        ("ABS('a')", "no-such-overload"),
        ("ABS(*)", "not-an-aggregate"),
        ("GREATEST(NULL, NULL)", "ambiguous-call"),
        ("ARRAY_REMOVE(ARRAY[1], 1.5E0)", "no-such-overload"),
        ("ARRAY_UNION(ARRAY[1], ARRAY[1E0])", "no-such-overload"),
        ("FILTER(ARRAY[1], X => X + 1)", "wrong-lambda-type"),
        ("REDUCE(MAP('a' := 1), 0, (S, S, Y) => S)", "duplicate-parameter"),
        ("1 AT TIME ZONE 'UTC'", "wrong-type"),
        ("TIMESTAMP '1970' AT TIME ZONE 'Nowhere'", "unknown-time-zone"),
    ],
)
def test_errors_have_a_code_and_a_place(text: str, code: str) -> None:
    """What is wrong is said before any row is seen, with the span of the SQL."""
    with pytest.raises(SqlError) as caught:
        compiled(text)
    assert caught.value.code == code
    assert caught.value.span is not None


def test_failures_are_logged_and_null() -> None:
    """A row that makes an expression fail gives NULL and one entry of the processing log."""
    errors: list[str] = []
    scope = scope_of({"A": "INT"}, errors)
    expression = compile_expression(parse_expression("10 / A"), scope)
    assert [expression.evaluate([a]) for a in (5, 0, None)] == [2, None, None]
    assert len(errors) == 1
    assert errors[0].startswith("10 / A: ")


def test_conditions_are_true_or_false() -> None:
    """WHERE keeps a row only where its condition is true; it must be a BOOLEAN."""
    scope = scope_of({"B": "BOOLEAN"})
    condition = compile_condition(parse_expression("B"), scope)
    assert [condition.evaluate([b]) for b in (True, False, None)] == [True, False, False]
    with pytest.raises(SqlTypeError, match="condition-not-boolean"):
        compile_condition(parse_expression("1"), scope)
