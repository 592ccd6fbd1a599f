"""Functions of the user that take whole columns: lists, or what their type hints ask for.

Over columns, such a function gets the records of a piece at once. Record by record, it gets columns
of one item.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import chain, compress
from typing import Any, get_origin, get_type_hints

from penstock.errors import InvalidArgumentError
from penstock.model.column_function import ColumnFunction
from penstock.model.user_code import user_code


class ColumnKind(Enum):
    """What a function takes as a column. The value is a pair: the package, and the class in it."""

    LIST = "builtins", "list"
    NUMPY = "numpy", "ndarray"
    ARROW = "pyarrow", "Array"
    ARROW_TABLE = "pyarrow", "Table"
    PANDAS = "pandas", "Series"
    PANDAS_FRAME = "pandas", "DataFrame"
    POLARS = "polars", "Series"
    POLARS_FRAME = "polars", "DataFrame"

    @property
    def is_frame(self) -> bool:
        """Whether each value is a row with named fields."""
        return self in _FRAMES

    @staticmethod
    def of(hint: Any) -> ColumnKind | None:
        """Return the kind that a type hint asks for; ``None`` if there is no such kind."""
        kind = get_origin(hint) or hint
        # From Python 3.12 on, numpy's NDArray is an alias that stands for the class.
        meant = getattr(kind, "__value__", kind)
        kind = get_origin(meant) or meant
        package = getattr(kind, "__module__", "").partition(".")[0]
        named = package, getattr(kind, "__name__", "")
        return next((each for each in ColumnKind if each.value == named), None)

    def column(self, values: Sequence[Any]) -> Any:
        """Return the values as the function wants them.

        Numbers become floats in all kinds but lists. Else the type of a column, and so perhaps the
        result for a record, would depend on the numbers of other records.
        """
        match self:
            case ColumnKind.LIST:
                return [*values]
            case ColumnKind.NUMPY:
                return _numpy_array(values)
            case ColumnKind.ARROW:
                return _module("pyarrow").array(_floats(values))
            case ColumnKind.PANDAS:
                return self._class(_floats(values))
            case ColumnKind.POLARS:
                return self._class(_floats(values), strict=False)
            case ColumnKind.ARROW_TABLE:
                return _module("pyarrow").table(_fields(values))
            case ColumnKind.PANDAS_FRAME:
                return self._class(_fields(values))
            case ColumnKind.POLARS_FRAME:
                return self._class(_fields(values), strict=False)

    @property
    def _class(self) -> Any:
        package, name = self.value
        return getattr(_module(package), name)


_NUMBERS = frozenset({float, type(None)})
_FRAMES = (ColumnKind.ARROW_TABLE, ColumnKind.PANDAS_FRAME, ColumnKind.POLARS_FRAME)


def _module(name: str) -> Any:
    """Import a package when it is needed. It is there: the user's type hint names it."""
    return importlib.import_module(name)


def _floats(values: Sequence[Any]) -> list[Any]:
    """Return numbers as floats, and other values as they are."""
    return [float(value) if type(value) is int else value for value in values]


def _fields(rows: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns of rows; a field that a row does not have is ``None``."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _floats([row.get(name) for row in rows]) for name in names}


def _numpy_array(values: Sequence[Any]) -> Any:
    """Return an array of floats, with NaN for ``None``, of truth values, or of objects."""
    numpy, items = _module("numpy"), _floats(values)
    types = {*map(type, items)}
    if types <= _NUMBERS:
        return numpy.array(items, float)
    if types == {bool}:
        return numpy.array(items, bool)
    found = numpy.empty(len(items), object)
    found[:] = items
    return found


def listed_column(column: Any) -> list[Any]:
    """Return the items of a column as Python's own values; of a frame, its rows as dicts.

    What is missing in pandas is ``None``.
    """
    if isinstance(column, list):
        return column
    package = type(column).__module__.partition(".")[0]
    if package == "pandas":
        known = column.astype(object).where(column.notna(), None)
        rows = known.to_dict("records") if hasattr(known, "columns") else known.tolist()
        return [*rows]
    # The names of the methods of Arrow, of frames and series of Polars, and of numpy.
    for method in ("to_pylist", "to_dicts", "to_list", "tolist"):
        if hasattr(column, method):
            return [*getattr(column, method)()]
    return [*column]


@dataclass(frozen=True, slots=True)
class BatchFunction:
    """Calls the user's function with columns. ``kinds`` has the kind of each of its arguments.

    Records without a value are not shown to a function that takes frames. Their result is ``None``.
    """

    operator: str
    fn: Callable[..., Any]
    kinds: tuple[ColumnKind, ...]
    #: Whether it takes the value alone, although the operator has a key as well.
    skips_key: bool = False
    #: Makes a list of what the function returns, with one item per record.
    listed: Callable[[Any], list[Any]] = listed_column

    @staticmethod
    def of(operator: str, fn: Callable[..., Any], count: int, **more: Any) -> BatchFunction:
        """Look at the type hints of a function with so many arguments."""
        try:
            hints = get_type_hints(fn)
            names = [*inspect.signature(fn).parameters][:count]
        except (TypeError, ValueError, NameError):
            hints, names = {}, []
        kinds = [ColumnKind.of(hints.get(name)) or ColumnKind.LIST for name in names]
        kinds += [ColumnKind.LIST] * (count - len(kinds))
        return BatchFunction(operator, fn, tuple(kinds), **more)

    def __call__(self, *given: Any) -> Any:
        """Return the result for one record."""
        return self.results([each] for each in given)[0]

    def results(self, given: Any) -> list[Any]:
        """Return a result per record, for columns of keys and values."""
        columns = [*given][self.skips_key :]
        shown = [True] * len(columns[0])
        for kind, column in zip(self.kinds, columns, strict=True):
            if kind.is_frame:
                shown = [
                    one and value is not None for one, value in zip(shown, column, strict=True)
                ]
        if all(shown):
            return self._called(columns)
        found = iter(self._called([[*compress(column, shown)] for column in columns]))
        return [next(found) if one else None for one in shown]

    def _called(self, columns: Sequence[Sequence[Any]]) -> list[Any]:
        count = len(columns[0])
        if not count:
            return []
        pairs = zip(self.kinds, columns, strict=True)
        found = self.listed(self.fn(*(kind.column(column) for kind, column in pairs)))
        if len(found) != count:
            raise InvalidArgumentError(
                "batch-result",
                f"the function of {self.operator} returned {len(found)} results for {count}"
                " records",
                fix="return one result for each record, in the same order",
            )
        return found

    def over_columns(self, *columns: Any) -> list[Any]:
        """Return a result per record of a batch of the kernel."""
        with user_code(f"the function of {self.operator}"):
            return self.results(column.values() for column in columns)


def batch_mapper(operator: str, fn: Callable[..., Any], count: int, **more: Any) -> ColumnFunction:
    """Return what calls a function with so many columns, for one record or for many."""
    rows = BatchFunction.of(operator, fn, count, **more)
    return ColumnFunction(rows, over_columns=rows.over_columns)


def batch_pairs(operator: str, fn: Callable[..., Any]) -> ColumnFunction:
    """Return the same for a function that returns a column of keys and one of values."""
    rows = BatchFunction.of(operator, fn, 2, listed=_listed_pairs)
    return ColumnFunction(rows, over_columns=partial(_pair_columns, rows))


def batch_lists(operator: str, fn: Callable[..., Any], count: int) -> ColumnFunction:
    """Return the same for a function that returns any number of results for each record."""
    rows = BatchFunction.of(operator, fn, count)
    return ColumnFunction(rows, over_columns=partial(_flat_column, rows))


def _listed_pairs(found: Any) -> list[Any]:
    keys, values = found
    return [*zip(listed_column(keys), listed_column(values), strict=True)]


def _pair_columns(rows: BatchFunction, *columns: Any) -> tuple[list[Any], list[Any]]:
    pairs = rows.over_columns(*columns)
    return [key for key, _ in pairs], [value for _, value in pairs]


def _flat_column(rows: BatchFunction, *columns: Any) -> tuple[Any, list[Any]]:
    """Return the results of all records, after the places of the records that they belong to."""
    found = rows.over_columns(*columns)
    with user_code(f"the function of {rows.operator}"):
        lists = [[*each] for each in found]
    numpy = _module("numpy")
    places = numpy.repeat(numpy.arange(len(lists)), [len(each) for each in lists])
    return places, [*chain.from_iterable(lists)]
