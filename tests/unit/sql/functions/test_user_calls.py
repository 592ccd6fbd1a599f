"""Calls of users' functions: NULLs, defaults, checked results, errors with the user's line."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest

from penstock.model.sql.errors import AnalysisError, FunctionError, SqlTypeError
from penstock.sql import UserFunction, udaf, udf, udtf
from penstock.sql.expressions import Scope, compile_expression
from penstock.sql.functions.library import built_in_functions
from penstock.sql.functions.registry import Aggregator
from penstock.sql.syntax.parser import parse_expression
from tests.unit.sql.kit import sql_type


@dataclass
class Pair:
    first: int
    second: str = "none"


@dataclass
class Mean:
    count: int
    total: float


class Average:
    """Averages numbers."""

    def initialize(self) -> Mean:
        return Mean(0, 0.0)

    def aggregate(self, state: Mean, value: float) -> Mean:
        return Mean(state.count + 1, state.total + value)

    def merge(self, a: Mean, b: Mean) -> Mean:
        return Mean(a.count + b.count, a.total + b.total)

    def map(self, state: Mean) -> float | None:
        return state.total / state.count if state.count else None

    def undo(self, state: Mean, value: float) -> Mean:
        return Mean(state.count - 1, state.total - value)


def failures_of(function: UserFunction, text: str) -> tuple[Any, list[Exception]]:
    """The value of an expression, and what was logged meanwhile."""
    registry = built_in_functions()
    function.register(registry)
    errors: list[Exception] = []
    scope = Scope((), registry, log=lambda _, error, __: errors.append(error))
    return compile_expression(parse_expression(text), scope).evaluate(()), errors


def value_of(function: UserFunction, text: str) -> Any:
    value, errors = failures_of(function, text)
    assert errors == []
    return value


def bound(function: UserFunction, types: list[str], values: list[Any] | None = None) -> Aggregator:
    registry = built_in_functions()
    function.register(registry)
    return registry.bind_aggregate(function.name, [sql_type(t) for t in types], values or [])


def rows_of(function: UserFunction, *types: str) -> tuple[str, Callable[..., list[Any]]]:
    registry = built_in_functions()
    function.register(registry)
    type_, rows = registry.bind_table(function.name, [sql_type(t) for t in types])
    return str(type_), rows


def test_optional_parameters_take_null() -> None:
    """A NULL reaches the parameters that say Optional, and only those."""

    @udf
    def either(a: int | None, b: int) -> int:
        return b if a is None else a

    assert value_of(either, "EITHER(CAST(NULL AS INT), 7)") == 7
    assert value_of(either, "EITHER(1, CAST(NULL AS INT))") is None


def test_optional_counts_beside_a_signature() -> None:
    """The signature has the types, the hint still says whether NULL is wanted."""

    @udf(signature="INT, INT -> INT")
    def either(a: int | None, b: int) -> int:
        return b if a is None else a

    assert value_of(either, "EITHER(CAST(NULL AS INT), 7)") == 7
    assert value_of(either, "EITHER(1, CAST(NULL AS INT))") is None


def test_elements_are_converted() -> None:
    """list[int] takes ARRAY<INT> and ARRAY<BIGINT>, list[float] takes both, as floats."""

    @udf
    def add(values: list[int]) -> int:
        return sum(values)

    @udf
    def shown(values: dict[str, list[float]]) -> str:
        return str(values)

    assert value_of(add, "ADD(ARRAY[1, 2])") == 3
    assert value_of(add, "ADD(ARRAY[1, 3000000000])") == 3000000001
    assert value_of(shown, "SHOWN(MAP('a' := ARRAY[1, 2]))") == "{'a': [1.0, 2.0]}"


def test_defaults_are_pythons() -> None:
    """An argument that is left out has the function's own default."""

    @udf
    def padded(text: str, width: int = 3, *more: str) -> str:
        return "".join([text.rjust(width), *more])

    assert value_of(padded, "PADDED('a')") == "  a"
    assert value_of(padded, "PADDED('a', 2)") == " a"
    assert value_of(padded, "PADDED('a', 1, 'b', 'c')") == "abc"


def test_structs_are_dataclasses_both_ways() -> None:
    """A struct's fields are found by name, and a dataclass comes back as a STRUCT."""

    @udf
    def swap(pair: Pair) -> Pair:
        return Pair(len(pair.second), str(pair.first))

    assert value_of(swap, "SWAP(STRUCT(first := 1, second := 'ab'))") == {"FIRST": 2, "SECOND": "1"}
    assert value_of(swap, "SWAP(STRUCT(first := 1, other := 5))->SECOND") == "1"
    with pytest.raises(SqlTypeError, match="no-such-overload"):
        value_of(swap, "SWAP(STRUCT(second := 'a'))")


@pytest.mark.parametrize(
    ("returns", "value"),
    [("INT", 2**31), ("STRING", 5), ("DECIMAL(4, 2)", Decimal("1.555")), ("ARRAY<INT>", ["a"])],
)
def test_a_result_of_another_type_is_null_and_logged(returns: str, value: Any) -> None:
    """What was declared is what comes out, or nothing; the log has the function's line."""

    @udf(returns=returns)
    def wrong(a: int) -> Any:
        return value

    found, errors = failures_of(wrong, "WRONG(1)")
    assert found is None
    assert isinstance(errors[0], FunctionError)
    assert errors[0].code == "wrong-result"
    assert str(errors[0].at).startswith("test_user_calls.py:")


def test_an_error_names_the_line_that_raised_it() -> None:
    """The line in the user's file, not one of a library below or of ours above."""

    @udf
    def fails(text: str) -> int:
        return int(Decimal(text))  # this line

    _, errors = failures_of(fails, "FAILS('x')")
    assert isinstance(errors[0], FunctionError)
    assert "FAILS raised InvalidOperation" in errors[0].message
    line = int(str(errors[0].at).removeprefix("test_user_calls.py:"))
    assert line == fails.function.__code__.co_firstlineno + 2


def test_a_decimal_result_needs_its_digits() -> None:
    """A Decimal that no parameter gives digits to is refused, unless somebody says them."""
    with pytest.raises(AnalysisError, match="how many digits"):

        @udf
        def price(text: str) -> Decimal:
            return Decimal(text)

    @udf
    def said(text: str) -> Annotated[Decimal, "DECIMAL(6, 2)"]:
        return Decimal(text)

    @udf
    def same(value: Decimal) -> Decimal:
        return value

    assert value_of(said, "SAID('1.5')") == Decimal("1.50")
    assert value_of(same, "SAME(1.25)") == Decimal("1.25")


def test_generators_are_table_functions() -> None:
    """Each yielded value is a row, checked like a result; NULL gives none."""

    @udtf
    def parts(text: str, sep: str = ",") -> Iterator[Pair]:
        for n, part in enumerate(text.split(sep)):
            yield Pair(n, part)

    type_, rows = rows_of(parts, "STRING")
    assert type_ == "STRUCT<`FIRST` BIGINT, `SECOND` STRING>"
    assert rows("a,b") == [{"FIRST": 0, "SECOND": "a"}, {"FIRST": 1, "SECOND": "b"}]
    assert rows(None) == []
    assert rows_of(parts, "STRING", "STRING")[1]("a;b", ";")[1] == {"FIRST": 1, "SECOND": "b"}


def test_arguments_of_table_functions_are_converted() -> None:
    """An INT is a float where a float is wanted, a DATE is a date."""

    @udtf
    def halves(value: float, day: date) -> list[str]:
        return [repr(value), day.isoformat()]

    assert rows_of(halves, "INT", "DATE")[1](1, 0) == ["1.0", "1970-01-01"]


@pytest.mark.parametrize("found", ["ab", {"a": 1}, 5, [1, "b"]])
def test_rows_of_another_type_are_refused(found: Any) -> None:
    """A text is not a list of rows, and a row has the declared type."""

    @udtf
    def wrong(value: int) -> list[int]:
        return found  # type: ignore[no-any-return]

    with pytest.raises(FunctionError, match="WRONG returned"):
        rows_of(wrong, "BIGINT")[1](1)


def test_aggregates_take_their_types_from_hints() -> None:
    """Parameters, state and result; a NULL changes nothing."""
    found = bound(udaf(Average), ["INT"])
    assert (str(found.state_type), str(found.type)) == (
        "STRUCT<`COUNT` BIGINT, `TOTAL` DOUBLE>",
        "DOUBLE",
    )
    state = found.aggregate(found.aggregate(found.initialize(), 1), None)
    assert state == {"COUNT": 1, "TOTAL": 1.0}
    assert found.map(found.merge(state, found.aggregate(state, 4))) == 2.0
    assert found.undo is not None
    assert found.undo(state, 1) == {"COUNT": 0, "TOTAL": 0.0}


def test_parameters_of_init_are_literals() -> None:
    """They follow the values of a call, and may have defaults."""

    @udaf
    class Joined:
        def __init__(self, separator: str = "-") -> None:
            self.separator = separator

        def initialize(self) -> list[str]:
            return []

        def aggregate(self, state: list[str], value: str) -> list[str]:
            return [*state, value]

        def merge(self, a: list[str], b: list[str]) -> list[str]:
            return a + b

        def map(self, state: list[str]) -> str:
            return self.separator.join(state)

    given = bound(Joined, ["STRING", "STRING"], [None, "+"])
    assert given.map(["a", "b"]) == "a+b"
    assert bound(Joined, ["STRING"], [None]).map(["a", "b"]) == "a-b"


@pytest.mark.parametrize("missing", ["initialize", "aggregate", "merge"])
def test_an_aggregate_without_its_methods_is_refused(missing: str) -> None:
    """The error names the method and the class's line."""
    methods = {n: m for n, m in vars(Average).items() if n != missing}
    with pytest.raises(AnalysisError, match=rf"has no {missing}\(\)") as raised:
        udaf(signature="INT -> INT", state="INT")(type("Half", (), methods))
    assert raised.value.code == "incomplete-aggregate"


def test_a_wrong_state_is_an_error() -> None:
    """A group whose state has another type stops the query instead of being stored."""

    @udaf
    class Wrong:
        def initialize(self) -> int:
            return 0

        def aggregate(self, state: int, value: int) -> int:
            return str(state)  # type: ignore[return-value]

        def merge(self, a: int, b: int) -> int:
            return a + b

    with pytest.raises(FunctionError, match="WRONG returned '0'"):
        bound(Wrong, ["INT"]).aggregate(0, 1)


def test_a_signature_needs_a_state() -> None:
    """Without hints nobody knows what a group's state is."""
    with pytest.raises(AnalysisError, match="no-state-type"):
        udaf(signature="INT -> INT")(Average)


def test_wrong_types_of_decorators_name_the_function() -> None:
    """The place is that of the function, for the type's own text has no lines."""
    with pytest.raises(AnalysisError) as raised:
        udf(returns="INTEGR")(lambda: 1)
    assert str(raised.value.at).startswith("test_user_calls.py:")
    with pytest.raises(AnalysisError) as raised:
        udf(signature="INTEGR -> INT")(lambda a: 1)
    assert str(raised.value.at).startswith("test_user_calls.py:")
