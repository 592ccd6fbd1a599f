"""``standard.aliases``, ``standard.values``, ``standard.moments`` and ``standard.aggregates``."""

from typing import Any

import pytest

from penstock.sql import SqlEngine, udf
from penstock.sql.functions.library import built_in_functions
from penstock.sql.functions.registry import INSTEAD
from tests.unit.sql.kit import type_of, value_of
from tests.unit.sql.queries import ORDERS, refusal, running

MOMENT = "TO_TIMESTAMP('2026-02-11 13:14:15')"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("LOWER('Ab')", "ab"),
        ("UPPER('Ab')", "AB"),
        ("SUBSTR('abc', 2)", "bc"),
        ("MOD(-7, 3)", -1),
        ("MOD(7, 0)", None),
        ("MOD(7.5e0, 2e0)", 1.5),
        ("MOD(7.5, 2.0)", 1.5),
        ("SPLIT_INDEX('a,b', ',', 1)", "b"),
        ("SPLIT_INDEX('a,b', ',', 2)", None),
        ("SPLIT_INDEX('a,b', ',', -1)", None),
        ("SPLIT_PART('a,b', ',', 1)", "a"),
        ("SPLIT_PART('a,b', ',', -1)", "b"),
        ("SPLIT_PART('a,b', ',', 5)", ""),
        ("SPLIT_PART('a,b', ',', 0)", None),
        ("LTRIM(' a ')", "a "),
        ("RTRIM(' a ')", " a"),
        ("REVERSE('abc')", "cba"),
        ("STARTS_WITH('abc', 'ab')", True),
        (f"HOUR({MOMENT})", 13),
        (f"MINUTE({MOMENT})", 14),
        (f"SECOND({MOMENT})", 15),
        (f"QUARTER({MOMENT})", 1),
        (f"WEEK({MOMENT})", 7),
        (f"DAYOFWEEK({MOMENT})", 4),
        ("DAYOFWEEK(TO_DATE('2026-02-15'))", 1),
        ("YEAR(TO_DATE('2026-02-15'))", 2026),
        (f"DATE_FORMAT({MOMENT}, 'HH:mm')", "13:14"),
        ("DATE_FORMAT(TO_DATE('2026-02-15'), 'd.M.yyyy')", "15.2.2026"),
        (f"DATE_FORMAT(DATE_TRUNC('week', {MOMENT}), 'MM-dd HH')", "02-09 00"),
        (f"DATE_FORMAT(DATE_TRUNC('QUARTER', {MOMENT}), 'MM-dd HH')", "01-01 00"),
        (f"DATE_TRUNC('fortnight', {MOMENT})", None),
        ("DATE_FORMAT(DATE_TRUNC('month', TO_DATE('2026-02-15')), 'dd')", "01"),
        ("TO_TIMESTAMP_LTZ(5, 0)", 5000),
        ("TO_TIMESTAMP_LTZ(5, 3)", 5),
        ("TO_TIMESTAMP_LTZ(5, 6)", None),
    ],
)
def test_functions_have_the_names_of_other_dialects(text: str, result: Any) -> None:
    assert value_of(text) == result


def test_types_are_those_of_the_function_that_is_meant() -> None:
    assert type_of("MOD(a, b)", A="INT", B="BIGINT") == "BIGINT"
    assert type_of("PROCTIME()") == type_of("NOW()") == "TIMESTAMP"


def test_aggregates_have_the_names_of_other_dialects() -> None:
    """STRING_AGG joins texts in their order of arrival and leaves NULLs out."""
    create = (
        "CREATE TABLE t AS SELECT price, STRING_AGG(item, '-') AS a, LISTAGG(item) AS b,"
        " FIRST_VALUE(item) AS c, LAST_VALUE(item) AS d, ANY_VALUE(id) AS e,"
        " APPROX_COUNT_DISTINCT(id) AS f"
        " FROM orders GROUP BY price;"
    )
    with running(ORDERS, create) as script:
        for key, item in enumerate(["fig", None, "nut"]):
            script.pipe("orders", key, {"item": item, "price": 1})
        last = script.read("T")[-1][1]
    assert last == {"A": "fig-nut", "B": "fig,nut", "C": "fig", "D": "nut", "E": 0, "F": 3}


def test_a_function_of_the_user_takes_the_name() -> None:
    """A program that has its own LOWER or SPLIT_INDEX keeps its meaning."""

    @udf(name="LOWER")
    def shout(text: str) -> str:
        return text.upper() + "!"

    engine = SqlEngine({"penstock.sql.python.functions": "true"}, functions=(shout,))
    assert len(engine.functions.scalars["LOWER"].overloads) == 1
    assert engine.functions.scalars["LOWER"].overloads[0].implementation is not None
    assert "LOWER" in built_in_functions().yielding
    assert "LOWER" not in engine.functions.yielding


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        ("ARRAY_AGG(item)", "COLLECT_LIST"),
        ("NVL(item, 'x')", "COALESCE"),
        ("STRPOS(item, 'x')", "INSTR"),
        ("TUMBLE_START(item)", "WINDOWSTART"),
    ],
)
def test_functions_of_other_dialects_are_refused_with_ours(call: str, fix: str) -> None:
    """The nearest name by its letters would be a wrong one."""
    error = refusal(ORDERS, f"SELECT {call} FROM orders EMIT CHANGES;")
    assert error.code == "unknown-function"
    assert fix in (error.fix or "")


def test_no_advice_is_about_a_function_that_there_is() -> None:
    assert not [name for name in INSTEAD if name in built_in_functions()]
