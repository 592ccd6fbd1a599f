"""Functions that cases call and no library has, written as users of Penstock would write them."""

from __future__ import annotations

from decimal import Decimal
from itertools import count
from typing import Any

from penstock.model.sql.types import INTEGER, STRING, ArrayType, Field, StructType
from penstock.sql import UserFunction, udaf, udf, udtf

_STRUCT = StructType((Field("A", STRING),))
_PAIR = StructType((Field("A", INTEGER), Field("B", INTEGER)))


def functions() -> tuple[UserFunction, ...]:
    """Gives the functions anew: some count their calls."""
    return (*_failing(), *_naming(), *_tables(), *_aggregates(), *_variadic_aggregates())


def _failing() -> list[UserFunction]:
    calls = count()

    @udf(name="BAD_UDF", signature="INTEGER -> STRING")
    def fails(_: int) -> str:
        raise ValueError("boom")

    @udf(name="BAD_UDF", signature="BOOLEAN -> INTEGER")
    def may_fail(fails_now: bool) -> int:
        if fails_now:
            raise ValueError("asked to fail")
        return 0

    @udf(name="BAD_UDF", signature="STRING -> STRING")
    def gives_null(text: str) -> str | None:
        return text if next(calls) % 2 else None

    @udf(name="WHENCONDITION", signature="BOOLEAN, BOOLEAN -> BOOLEAN")
    def condition(value: bool, is_wanted: bool) -> bool:
        return bool(_lazily(value, is_wanted))

    @udf(name="WHENRESULT", signature="INTEGER, BOOLEAN -> INTEGER")
    def result(value: int, is_wanted: bool) -> int:
        return int(_lazily(value, is_wanted))

    return [fails, may_fail, gives_null, condition, result]


def _lazily(value: Any, is_wanted: bool) -> Any:
    if not is_wanted:
        raise ValueError("a branch that is not taken was evaluated")
    return value


def _naming() -> list[UserFunction]:
    names = {
        "INTEGER, STRING -> STRING": "doStuffIntString",
        "BIGINT, STRING -> STRING": "doStuffLongString",
        "BIGINT, BIGINT, STRING -> STRING": "doStuffLongLongString",
        "BIGINT... -> STRING": "doStuffLongVarargs",
    }
    named = [
        udf(name="TEST_UDF", signature=signature)(lambda *_, name=name: name)
        for signature, name in names.items()
    ]
    return [
        *named,
        udf(name="TEST_UDF", signature="STRUCT -> STRING")(lambda struct: struct["A"]),
        udf(name="TEST_UDF", signature="-> ANY", returns=_struct)(lambda: {"A": "foo"}),
        udf(name="TOSTRUCT", signature="STRING -> ANY", returns=_struct)(lambda text: {"A": text}),
    ]


def _struct(_: Any) -> StructType:
    return _STRUCT


def _java_text(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case dict():
            return f"Struct{{{','.join(f'{name}={item}' for name, item in value.items())}}}"
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def _tables() -> list[UserFunction]:
    plain = "INTEGER, BIGINT, DOUBLE, BOOLEAN, STRING, DECIMAL"
    each = plain.split(", ")
    lists = ", ".join(f"ARRAY<{type_}>" for type_ in each)
    maps = ", ".join(f"MAP<STRING, {type_}>" for type_ in each)

    def texts(*values: Any) -> list[str]:
        return [_java_text(value) for value in values]

    def first_of_lists(*values: Any) -> list[str]:
        return [_java_text(value[0]) for value in values]

    def first_of_maps(*values: Any) -> list[str]:
        return [_java_text(next(iter(value.values()))) for value in values]

    def itself(value: Any) -> list[Any]:
        if value is None:
            raise ValueError("there is no value")
        return [value]

    def decimal_itself(value: Decimal) -> list[Decimal]:
        return [value]

    def fails(fails_now: bool) -> list[bool]:
        if fails_now:
            raise ValueError("asked to fail")
        return [fails_now]

    own = [udtf(name="TEST_UDTF", signature=f"{type_} -> {type_}")(itself) for type_ in each[:5]]
    return [
        udtf(name="TEST_UDTF", signature=f"{plain}, STRUCT -> STRING")(texts),
        udtf(name="TEST_UDTF", signature=f"{lists}, ARRAY<STRUCT> -> STRING")(first_of_lists),
        udtf(name="TEST_UDTF", signature=f"{maps}, MAP<STRING, STRUCT> -> STRING")(first_of_maps),
        *own,
        udtf(name="TEST_UDTF", returns="DECIMAL(30, 10)")(decimal_itself),
        udtf(name="TEST_UDTF", signature="A -> A")(itself),
        udtf(name="THROWING_UDTF", signature="BOOLEAN -> BOOLEAN")(fails),
    ]


class Sum:
    """Adds numbers; rows of a table can be taken back."""

    def initialize(self) -> Any:
        return 0

    def aggregate(self, state: Any, value: Any) -> Any:
        return state + value

    def merge(self, a: Any, b: Any) -> Any:
        return a + b

    def undo(self, state: Any, value: Any) -> Any:
        return state - value


class SumDouble(Sum):
    def initialize(self) -> float:
        return 0.0


class SumLengths:
    """Adds lengths of texts to that of a first one."""

    def __init__(self, first: str) -> None:
        self._first = first

    def initialize(self) -> int:
        return len(self._first)

    def aggregate(self, state: int, text: str) -> int:
        return state + len(text)

    def merge(self, a: int, b: int) -> int:
        return a + b


class SumPairs:
    def initialize(self) -> dict[str, int]:
        return {"A": 0, "B": 0}

    def aggregate(self, state: dict[str, int], pair: dict[str, int]) -> dict[str, int]:
        return {name: state[name] + pair[name] for name in ("A", "B")}

    def merge(self, a: dict[str, int], b: dict[str, int]) -> dict[str, int]:
        return self.aggregate(a, b)


def _pair(_: Any) -> StructType:
    return _PAIR


def _aggregates() -> list[UserFunction]:
    return [
        udaf(name="TEST_UDAF", signature="BIGINT -> BIGINT", state="BIGINT")(Sum),
        udaf(name="TEST_UDAF", signature="INTEGER -> BIGINT", state="BIGINT")(Sum),
        udaf(name="TEST_UDAF", signature="DOUBLE -> DOUBLE", state="DOUBLE")(SumDouble),
        udaf(name="TEST_UDAF", signature="STRING, STRING -> BIGINT", state="BIGINT", constants=1)(
            SumLengths
        ),
        udaf(name="TEST_UDAF", signature="STRUCT -> ANY", state=_pair, returns=_pair)(SumPairs),
    ]


class Complete:
    """Collects the first argument of calls that have no NULL."""

    def initialize(self) -> list[Any]:
        return []

    def aggregate(self, state: list[Any], *values: Any) -> list[Any]:
        return state if None in values else [*state, values[0]]

    def merge(self, a: list[Any], b: list[Any]) -> list[Any]:
        return a + b


class NumberAndLengths:
    """Adds a number and the lengths of texts, NULLs aside."""

    def initialize(self) -> int:
        return 0

    def aggregate(self, state: int, number: int | None, *texts: str | None) -> int:
        return state + (number or 0) + sum(len(text) for text in texts if text is not None)

    def merge(self, a: int, b: int) -> int:
        return a + b


class StartingWith(NumberAndLengths):
    def __init__(self, number: int, *texts: str) -> None:
        self._start = number + sum(map(len, texts))

    def initialize(self) -> int:
        return self._start


class EndingWith(NumberAndLengths):
    def __init__(self, first: int, second: int) -> None:
        self._extra = first + second

    def map(self, state: int) -> int:
        return state + self._extra


def _variadic_aggregates() -> list[UserFunction]:
    def list_of_first(types: Any) -> ArrayType:
        return ArrayType(types[0])

    return [
        udaf(name="GENERIC_VAR_ARG", signature="A, B, C... -> ARRAY<A>", state=list_of_first)(
            Complete
        ),
        udaf(
            name="OBJ_COL_ARG", signature="INTEGER, ANY... -> ARRAY<INTEGER>", state=list_of_first
        )(Complete),
        udaf(name="VAR_ARG", signature="BIGINT, STRING... -> BIGINT", state="BIGINT")(
            NumberAndLengths
        ),
        udaf(
            name="MULTI_ARG",
            signature="BIGINT, STRING, INTEGER, STRING... -> BIGINT",
            state="BIGINT",
            columns=2,
        )(StartingWith),
        udaf(
            name="MID_VAR_ARG",
            signature="BIGINT, STRING..., INTEGER, INTEGER -> BIGINT",
            state="BIGINT",
            constants=2,
        )(EndingWith),
    ]
