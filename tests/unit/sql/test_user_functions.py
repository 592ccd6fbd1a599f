"""Functions of users: types from hints, overloads, aggregates, the extensions folder."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import cloudpickle
import pyarrow.compute as pc
import pytest

from penstock.model.columns.row_columns import RowColumns
from penstock.model.sql.errors import AnalysisError, FunctionError
from penstock.model.sql.types import INTEGER, ArrayType
from penstock.sql import SqlEngine, udaf, udf, udtf
from penstock.sql.arrow import to_array
from penstock.sql.expressions import Column, Scope, compile_columns, compile_expression
from penstock.sql.expressions.over_rows import values_over_rows
from penstock.sql.functions.extensions import load_extensions
from penstock.sql.functions.library import built_in_functions
from penstock.sql.functions.user import UserFunction
from penstock.sql.syntax.parser import parse_expression
from tests.unit.sql.kit import FUNCTIONS, sql_type

T = TypeVar("T")


def call(function: UserFunction, text: str) -> Any:
    registry = built_in_functions()
    function.register(registry)
    return compile_expression(parse_expression(text), Scope((), registry)).evaluate(())


def test_hints_give_the_types() -> None:
    """int is BIGINT, str STRING, list ARRAY; a NULL never reaches the function."""

    @udf("Repeats a text.")
    def repeat(text: str, times: int = 2) -> list[str]:
        return [text] * times

    assert call(repeat, "REPEAT('a', 3)") == ["a", "a", "a"]
    assert call(repeat, "REPEAT('a', CAST(NULL AS INT))") is None
    assert repeat("b", 1) == ["b"]


def test_variadic_and_generic_functions() -> None:
    """*args takes any number of arguments; a TypeVar is one type everywhere."""

    @udf(takes_null=True)
    def last(*values: T) -> T:
        return values[-1]

    assert call(last, "LAST('a', 'b')") == "b"
    assert call(last, "LAST(1, 2, 3) + 1") == 4


def test_dates_arrive_as_python_has_them() -> None:
    """DATE, TIME and TIMESTAMP are date, time and datetime inside the function."""

    @udf()
    def tomorrow(day: date) -> date:
        return day + timedelta(days=1)

    @udf()
    def later(moments: list[datetime]) -> list[datetime]:
        return [moment + timedelta(seconds=1) for moment in moments]

    assert call(tomorrow, "TOMORROW(DATE '1970-01-01')") == 1
    assert call(later, "LATER(ARRAY[FROM_UNIXTIME(5)])") == [1005]
    assert later([datetime(1970, 1, 1, tzinfo=UTC)])


def test_overloads_share_a_name() -> None:
    """The overload nearest to the arguments is called."""

    @udf(name="kind")
    def of_text(value: str) -> str:
        return "text"

    @udf(name="kind", returns="STRING")
    def of_number(value: Decimal) -> str:
        return "decimal"

    both = of_text.overload(of_number)
    assert call(both, "KIND('x')") == "text"
    assert call(both, "KIND(1.5)") == "decimal"


def test_a_failing_function_gives_null() -> None:
    """An exception of user code is logged and its call is NULL."""

    @udf()
    def fails(value: int) -> int:
        raise ValueError("no")

    assert call(fails, "COALESCE(FAILS(1), 7)") == 7


def test_hints_without_sql_type_are_refused() -> None:
    """A hint that no SQL type stands for is an error when the function is declared."""
    with pytest.raises(AnalysisError, match="no-sql-type"):

        @udf()
        def strange(value: set[int]) -> int:
            return 1


def test_table_function() -> None:
    """A function that gives a list gives rows."""

    @udtf()
    def up_to(end: int) -> list[int]:
        return list(range(end))

    registry = built_in_functions()
    up_to.register(registry)
    type_, rows = registry.bind_table("UP_TO", [sql_type("INT")])
    assert (str(type_), rows(3)) == ("BIGINT", [0, 1, 2])


def test_aggregate_function() -> None:
    """A class with the steps of an aggregation is an aggregate function."""

    @udaf(signature="STRING, STRING -> STRING", state="STRING", constants=1, name="join_all")
    class JoinAll:
        def __init__(self, separator: str) -> None:
            self.separator = separator

        def initialize(self) -> str:
            return ""

        def aggregate(self, state: str, value: str) -> str:
            return f"{state}{self.separator}{value}"

        def merge(self, a: str, b: str) -> str:
            return a + b

        def map(self, state: str) -> str:
            return state.removeprefix(self.separator)

    registry = built_in_functions()
    JoinAll.register(registry)
    text = sql_type("STRING")
    aggregator = registry.bind_aggregate("JOIN_ALL", [text, text], [None, "-"])
    state = aggregator.aggregate(aggregator.aggregate(aggregator.initialize(), "a"), "b")
    assert (aggregator.map(state), aggregator.undo, str(aggregator.type)) == ("a-b", None, "STRING")


def test_types_may_depend_on_arguments() -> None:
    """A function of the arguments' types gives the result's, and the state's, type."""

    @udf(signature="A -> A", returns=lambda types: ArrayType(types[0]))
    def wrap(value: Any) -> Any:
        return [value]

    @udaf(
        signature="A, INTEGER, INTEGER... -> A",
        state=lambda types: ArrayType(types[0]),
        returns=lambda types: ArrayType(types[0]),
        columns=1,
    )
    class Rest:
        def __init__(self, *values: int) -> None:
            self.values = values

        def initialize(self) -> list[Any]:
            return []

        def aggregate(self, state: list[Any], value: Any) -> list[Any]:
            return [*state, value, *self.values]

        def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
            return a + b

    registry = built_in_functions()
    Rest.register(registry)
    wrap.register(registry)
    number = sql_type("INT")
    bound = registry.bind_aggregate("REST", [number] * 3, [None, 7, 8])
    assert (bound.aggregate([], 1), str(bound.state_type)) == ([1, 7, 8], "ARRAY<INTEGER>")
    compiled = compile_expression(parse_expression("WRAP('a')"), Scope((), registry))
    assert (str(compiled.type), compiled.evaluate(())) == ("ARRAY<STRING>", ["a"])


def test_vectorised_functions_take_arrays() -> None:
    """A function over Arrow arrays serves rows and columns alike."""

    @udf(signature="BIGINT, BIGINT -> BIGINT", columns=True)
    def plus(a: Any, b: Any) -> Any:
        return pc.add(a, b)

    registry = built_in_functions()
    plus.register(registry)
    scope = Scope((Column("A", sql_type("INT")),), registry)
    node = parse_expression("PLUS(A, 2)")
    by_row = compile_expression(node, scope)
    assert [by_row.evaluate([a]) for a in (1, None)] == [3, None]
    by_column = compile_columns(node, scope)
    assert by_column is not None
    result = by_column.evaluate([to_array([1, None], sql_type("INT"))], 2)
    assert result.to_pylist() == [3, None]


def test_a_bad_value_costs_its_own_row_only() -> None:
    """Where a batch fails, its rows are evaluated one by one and only the bad one is NULL."""

    @udf(signature="BIGINT -> BIGINT", columns=True)
    def invert(a: Any) -> Any:
        return pc.divide(100, a)

    registry = built_in_functions()
    invert.register(registry)
    errors: list[str] = []
    number = sql_type("BIGINT")
    scope = Scope((Column("A", number),), registry, log=lambda text, _, __: errors.append(text))
    evaluate = values_over_rows(parse_expression("INVERT(A)"), scope)
    assert list(evaluate(RowColumns([[5, 0]], 2))) == [20, None]
    assert errors == ["INVERT(A)"]


def test_extensions_are_loaded_from_a_folder(tmp_path: Path) -> None:
    """Every file's functions are added; a broken file is named."""
    (tmp_path / "more.py").write_text(
        "from penstock.sql import udf\n"
        "@udf('Adds one.')\n"
        "def inc(x: int) -> int:\n"
        "    return x + 1\n"
    )
    registry = built_in_functions()
    assert load_extensions(tmp_path, registry) == ["INC"]
    assert registry.scalars["INC"].description == "Adds one."
    assert "INC" not in FUNCTIONS.scalars
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(AnalysisError, match=r"broken\.py"):
        load_extensions(tmp_path, registry)


def test_extensions_may_have_dataclasses_and_name_their_lines(tmp_path: Path) -> None:
    """Hints that are texts are resolved in the file; an error has the file's own line."""
    (tmp_path / "shapes.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from penstock.sql import udf\n"
        "@dataclass\n"
        "class Square:\n"
        "    side: float\n"
        "@udf\n"
        "def square(side: float) -> Square:\n"
        "    return Square(side)\n"
    )
    registry = built_in_functions()
    assert load_extensions(tmp_path, registry) == ["SQUARE"]
    compiled = compile_expression(parse_expression("SQUARE(2)->SIDE"), Scope((), registry))
    assert compiled.evaluate(()) == 2.0
    (tmp_path / "shapes.py").write_text("a = 1\nb = a / 0\n")
    with pytest.raises(AnalysisError, match=r"shapes\.py:2"):
        load_extensions(tmp_path, registry)


def test_settings_reach_a_function_that_wants_them() -> None:
    """Those of its name without the prefix, over those of all functions; and also of SET."""

    @udf
    def priced(net: int, *, settings: Mapping[str, str]) -> str:
        return f"{net} {settings.get('currency', '?')} {settings.get('zone', '?')}"

    @udtf
    def copies(net: int, *, settings: Mapping[str, str]) -> list[int]:
        return [net] * int(settings.get("count", "1"))

    @udaf
    class Capped:
        def __init__(self, *, settings: Mapping[str, str]) -> None:
            self.most = int(settings.get("most", "1000"))

        def initialize(self) -> int:
            return 0

        def aggregate(self, state: int, value: int) -> int:
            return min(state + value, self.most)

        def merge(self, a: int, b: int) -> int:
            return min(a + b, self.most)

    engine = SqlEngine(
        {
            "ksql.functions._global_.zone": "EU",
            "ksql.functions._global_.currency": "EUR",
            "ksql.functions.priced.currency": "CHF",
            "ksql.functions.capped.most": "7",
        },
        functions=(priced, copies, Capped),
    )
    engine.execute("""
        CREATE STREAM s (k INT KEY, v INT) WITH (KAFKA_TOPIC='s', FORMAT='JSON', PARTITIONS=1);
        CREATE STREAM one WITH (KAFKA_TOPIC='one') AS SELECT k, PRICED(v) AS p FROM s;
        SET 'ksql.functions.priced.currency' = 'USD';
        SET 'ksql.functions.copies.count' = '2';
        CREATE STREAM two WITH (KAFKA_TOPIC='two') AS SELECT k, PRICED(v) AS p FROM s;
        CREATE STREAM many WITH (KAFKA_TOPIC='many') AS SELECT k, COPIES(v) AS v FROM s;
        CREATE TABLE capped WITH (KAFKA_TOPIC='capped') AS
            SELECT k, CAPPED(v) AS total FROM s GROUP BY k;
    """)
    for over_columns in (False, True):
        with engine.local(over_columns=over_columns) as queries:
            for _ in range(2):
                queries.pipe("s", b"1", b'{"V": 5}')
            found = [(each.topic, each.value) for each in queries.produced if each.topic != "s"]
        assert [value for topic, value in found if topic == "one"] == [b'{"P":"5 CHF EU"}'] * 2
        assert [value for topic, value in found if topic == "two"] == [b'{"P":"5 USD EU"}'] * 2
        assert [value for topic, value in found if topic == "many"] == [b'{"V":5}'] * 4
        assert [value for topic, value in found if topic == "capped"][-1] == b'{"TOTAL":7}'


def test_a_function_with_settings_travels_and_names_its_line() -> None:
    """Workers get it pickled, and an error is that of the function itself."""

    @udf
    def broken(value: int, *, settings: Mapping[str, str]) -> int:
        return value // int(settings["divisor"])

    registry = built_in_functions()
    broken.register(registry)
    known = registry.configured({"ksql.functions.broken.divisor": "0"})
    bound = known.scalar("BROKEN").overloads[0].implementation([INTEGER])
    again = cloudpickle.loads(cloudpickle.dumps(bound))
    with pytest.raises(FunctionError, match="ZeroDivisionError") as failed:
        again(1)
    assert failed.value.at is not None
    assert failed.value.at.startswith("test_user_functions.py:")
    plain = built_in_functions()
    assert plain.configured({}) is plain
