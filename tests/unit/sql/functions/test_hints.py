"""Type hints as SQL types."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from typing import Annotated, Any, Optional, TypeVar

import pyarrow as pa
import pytest

from penstock.model.sql.errors import AnalysisError
from penstock.sql.functions.hints import hints_of, parameters_of, pattern_of, site_of

T = TypeVar("T")


@dataclass
class Point:
    x: int
    label: str | None = None
    tags: list[str] = field(default_factory=list)


def anything(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        (int, "BIGINT"),
        (Optional[float], "DOUBLE"),  # noqa: UP045
        (str | None, "STRING"),
        (Decimal, "DECIMAL"),
        (date, "DATE"),
        (time, "TIME"),
        (datetime, "TIMESTAMP"),
        (list[int], "ARRAY<BIGINT>"),
        (Sequence[bool], "ARRAY<BOOLEAN>"),
        (tuple[bytes, ...], "ARRAY<BYTES>"),
        (Iterator[T], "ARRAY<T>"),
        (dict[str, list[int]], "MAP<STRING, ARRAY<BIGINT>>"),
        (Mapping[str, float], "MAP<STRING, DOUBLE>"),
        (Annotated[Decimal, "DECIMAL(10, 2)"], "DECIMAL(10, 2)"),
        (Annotated[int, "int"], "INTEGER"),
        (Annotated[int, 5], "BIGINT"),
        (Point, "STRUCT<`X` BIGINT, `LABEL` STRING, `TAGS` ARRAY<STRING>>"),
        (pa.Int64Array, "BIGINT"),
        (pa.TimestampArray, "TIMESTAMP"),
    ],
)
def test_hints_stand_for_types(hint: Any, shown: str) -> None:
    """Every documented hint has its type."""
    assert str(pattern_of(anything, "value", hint)) == shown


@pytest.mark.parametrize(
    "hint", [None, set[int], int | str, list, complex, Annotated[int, "INTEGR"], list[set[int]]]
)
def test_other_hints_are_refused_with_the_line(hint: Any) -> None:
    """The error names the function, the parameter and the place in the user's file."""
    with pytest.raises(AnalysisError, match="no-sql-type") as raised:
        pattern_of(anything, "value", hint)
    assert "anything: 'value'" in raised.value.message
    assert raised.value.at == site_of(anything)
    assert str(raised.value.at).startswith("test_hints.py:")


def test_parameters_know_defaults_and_nulls() -> None:
    """Optional takes NULL, another hint does not, no hint says nothing."""

    def function(
        a: int, b: int | None, c: Any, d: str = "x", *rest: float, flag: bool = True
    ) -> None:
        """Takes all kinds."""

    found = parameters_of(function)
    assert [each.takes_null for each in found] == [False, True, None, False, False]
    assert [each.has_default for each in found] == [False, False, False, True, False]
    assert [each.is_variadic for each in found] == [False, False, False, False, True]


def test_parameters_that_sql_cannot_give_are_refused() -> None:
    """SQL has no arguments by name."""

    def function(a: int, *, b: int) -> int:
        return a + b

    with pytest.raises(AnalysisError, match="keyword-parameter"):
        parameters_of(function)


def test_hints_that_cannot_be_read_are_refused() -> None:
    """A name in a hint that Python does not find is named."""

    def function(a: "Nowhere") -> int:  # type: ignore[name-defined]  # noqa: F821
        return 1

    with pytest.raises(AnalysisError, match="Nowhere"):
        hints_of(function)


def test_functions_that_say_nothing_need_a_signature() -> None:
    """A wrapper without hints is taken as it is where a signature has the types."""
    assert parameters_of(partial(anything, 1), is_hinted=False) == []
    with pytest.raises(AnalysisError, match="unreadable-hints"):
        parameters_of(partial(anything, 1))
