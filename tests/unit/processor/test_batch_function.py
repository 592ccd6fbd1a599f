"""Functions that take whole columns: what they get, what they may return, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.errors import InvalidArgumentError
from penstock.model.user_code import UserCodeError
from penstock.processor.batch_function import (
    BatchFunction,
    ColumnKind,
    batch_lists,
    batch_mapper,
    batch_pairs,
)


class Column:
    """A column of the kernel, as far as a function sees it."""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def values(self) -> tuple[Any, ...]:
        return self._values


def of_list(values: list[float]) -> list[float]:
    return [value + 1 for value in values]


def of_numpy(values: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    return values + 1


def of_typed_numpy(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return values + 1


def of_arrow(values: pa.Array) -> pa.Array:
    return pc.add(values, 1)


def of_pandas(values: pd.Series) -> pd.Series:  # type: ignore[type-arg]
    return values + 1


def of_polars(values: pl.Series) -> pl.Series:
    return values + 1


SINGLE = [of_list, of_numpy, of_typed_numpy, of_arrow, of_pandas, of_polars]


@pytest.mark.parametrize("fn", SINGLE, ids=lambda fn: fn.__name__)
def test_column_is_what_the_type_hint_says(fn: Any) -> None:
    """The results are Python's own floats again, alone and together with others."""
    mapper = batch_mapper("map_values", fn, 1)
    assert mapper.over_columns is not None
    together = mapper.over_columns(Column(1, 2.5))
    assert together == [mapper(1), mapper(2.5)] == [2, 3.5]
    assert {*map(type, together)} <= {float, int}


def frame_of_pandas(rows: pd.DataFrame) -> pd.Series:  # type: ignore[type-arg]
    return rows["n"] * 2


def frame_of_polars(rows: pl.DataFrame) -> pl.Series:
    return rows["n"] * 2


def table_of_arrow(rows: pa.Table) -> pa.ChunkedArray:
    return pc.multiply(rows["n"], 2)


FRAMES = [frame_of_pandas, frame_of_polars, table_of_arrow]


@pytest.mark.parametrize("fn", FRAMES, ids=lambda fn: fn.__name__)
def test_frame_has_the_fields_of_the_values(fn: Any) -> None:
    """A field that one value lacks is missing there; a record without a value is not shown."""
    mapper = batch_mapper("map_values", fn, 1)
    assert mapper.over_columns is not None
    values = {"n": 1, "s": "a"}, None, {"n": 2.5}, {"s": "b", "n": None}
    assert mapper.over_columns(Column(*values)) == [2.0, None, 5.0, None]
    assert [mapper(value) for value in values[:3]] == [2.0, None, 5.0]
    assert mapper.over_columns(Column(None)) == [None]


@pytest.mark.parametrize(
    "fn",
    [
        lambda rows: pd.DataFrame({"m": [row["n"] for row in rows], "o": None}),
        lambda rows: pl.DataFrame({"m": [row["n"] for row in rows], "o": None}),
        lambda rows: pa.table({"m": [row["n"] for row in rows], "o": pa.nulls(len(rows))}),
    ],
)
def test_frame_that_is_returned_becomes_objects(fn: Any) -> None:
    """One object for each of its rows."""
    mapper = batch_mapper("map_values", fn, 1)
    assert mapper({"n": 1}) == {"m": 1, "o": None}


def test_function_without_type_hints_takes_lists() -> None:
    """A lambda has none."""
    mapper = batch_mapper("map_values", lambda keys, values: [*zip(keys, values, strict=True)], 2)
    assert mapper.over_columns is not None
    assert mapper.over_columns(Column("a", "b"), Column(1, 2)) == [("a", 1), ("b", 2)]
    assert mapper("a", 1) == ("a", 1)


def test_hints_of_some_arguments_count_for_these() -> None:
    """The other ones are lists. A hint that cannot be read counts as none."""

    def scored(keys, values: np.ndarray):  # type: ignore[no-untyped-def, type-arg]
        return [type(keys).__name__] * len(values)

    def unknown(values: Nowhere) -> Any:  # type: ignore[name-defined] # noqa: F821
        return values

    assert BatchFunction.of("map_values", scored, 2).kinds == (ColumnKind.LIST, ColumnKind.NUMPY)
    assert BatchFunction.of("map_values", unknown, 1).kinds == (ColumnKind.LIST,)
    assert BatchFunction.of("map_values", len, 1).kinds == (ColumnKind.LIST,)


def test_predicate_may_take_values_alone() -> None:
    """Although the operator has keys as well."""
    predicate = batch_mapper("filter", lambda values: [v > 1 for v in values], 1, skips_key=True)
    assert predicate.over_columns is not None
    assert predicate.over_columns(Column("a", "b"), Column(1, 2)) == [False, True]
    assert predicate("a", 2) is True


def test_pairs_are_two_columns() -> None:
    """Of keys and of values."""
    pairs = batch_pairs("map", lambda keys, values: (np.array([7, 8])[: len(keys)], values))
    assert pairs.over_columns is not None
    assert pairs.over_columns(Column("a", "b"), Column(1, 2)) == ([7, 8], [1, 2])
    assert pairs("a", 1) == (7, 1)


def test_lists_name_the_records_that_they_come_from() -> None:
    """A record may have none."""
    lists = batch_lists("flat_map_values", lambda values: [[v] * v for v in values], 1)
    assert lists.over_columns is not None
    places, values = lists.over_columns(Column(1, 0, 2))
    assert places.tolist() == [0, 2, 2]
    assert values == [1, 2, 2]
    assert lists(2) == [2, 2]


def test_wrong_number_of_results_is_refused() -> None:
    """Nobody knows which record a result belongs to."""
    mapper = batch_mapper("map_values", lambda values: [1], 1)
    assert mapper.over_columns is not None
    with pytest.raises(UserCodeError) as raised:
        mapper.over_columns(Column(1, 2))
    assert isinstance(raised.value.__cause__, InvalidArgumentError)
    assert "map_values returned 1 results for 2 records" in str(raised.value.__cause__)


def test_numpy_has_truth_values_and_objects_too() -> None:
    """Texts are objects. ``None`` among numbers is not a number."""
    assert ColumnKind.NUMPY.column([True, False]).dtype == bool
    assert ColumnKind.NUMPY.column(["a", None]).dtype == object
    assert np.isnan(ColumnKind.NUMPY.column([1, None])[1])
