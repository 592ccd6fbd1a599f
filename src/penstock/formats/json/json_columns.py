"""Format JSON over columns. Row by row: ``json_codec``, whose results are the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import contains, itemgetter
from typing import Any

from penstock.formats.columns import parts
from penstock.formats.json.json_check import checking_decoder
from penstock.formats.json.json_codec import json_codec, json_option, writer
from penstock.formats.json.json_read import CLASSES, LIMITS, reader, sources_of
from penstock.formats.json.json_values import Inexact
from penstock.formats.row_column_serde import row_column_serde
from penstock.model.columns.row_columns import Items, RowColumns
from penstock.model.sql.types import DOUBLE, DecimalType, Field, SqlType
from penstock.serde.column_serde import ColumnSerde, Encoded
from penstock.serde.json_column import dumped, loaded

_NONE = type(None)


def json_columns(
    columns: Sequence[Field], *, is_unwrapped: bool, is_read: bool = True
) -> ColumnSerde:
    """Return the column serde of rows. It only checks values that the query does not read."""
    if is_unwrapped:
        type_ = columns[0].type
        return row_column_serde(("JSON", type_), 1, _single_decoder(type_), _single_encoder(type_))
    decode = _object_decoder(columns)
    if decode is not None and not is_read:
        decode = checking_decoder(columns, decode)
    return row_column_serde(
        ("JSON", tuple(columns)), len(columns), decode, _object_encoder(columns)
    )


def _has_decimals(types: Sequence[SqlType]) -> bool:
    """Return whether a type needs all digits of a number, which ``orjson`` does not keep."""
    return any(isinstance(part, DecimalType) for type_ in types for part in parts(type_))


def _object_decoder(fields: Sequence[Field]) -> Callable[[Encoded], RowColumns | None] | None:
    if _has_decimals([field.type for field in fields]):
        return None
    converts = [_column_reader(field.type) for field in fields]

    def decode(data: Encoded) -> RowColumns | None:
        objects = loaded(data)  # type: ignore[arg-type]
        if set(map(type, objects)) != {dict}:
            return None
        names = tuple(objects[0])
        sources = sources_of(fields, names)
        # A field that the first record has under another name may have its own name in the next.
        has_others = any(s != f.name for s, f in zip(sources, fields, strict=True))
        if has_others and not _have_names(objects, names):
            return None
        try:
            columns = [_picked(objects, s, c) for s, c in zip(sources, converts, strict=True)]
        except Inexact:
            return None
        return RowColumns(columns, len(objects))

    return decode


def _have_names(objects: list[Any], names: tuple[str, ...]) -> bool:
    """Return whether all objects have the same names, so that all have the same fields."""
    if len({name.upper() for name in names}) < len(names):
        # Two names differ in case only. Then the order of the members decides which is the field.
        return len(set(map(tuple, objects))) == 1
    if set(map(len, objects)) != {len(names)}:
        return False
    return all(all(map(contains, objects, repeat(name))) for name in names)


def _picked(objects: list[Any], source: str | None, convert: Callable[[Items], Items]) -> Items:
    if source is None:
        return [None] * len(objects)
    return convert([*map(itemgetter(source), objects)])


def _single_decoder(type_: SqlType) -> Callable[[Encoded], RowColumns | None] | None:
    if _has_decimals([type_]):
        return None
    convert = _column_reader(type_)

    def decode(data: Encoded) -> RowColumns | None:
        try:
            return RowColumns([convert(loaded(data))], len(data))  # type: ignore[arg-type]
        except Inexact:
            return None

    return decode


def _column_reader(type_: SqlType) -> Callable[[Items], Items]:
    """Return the function from JSON values to values of the type; it raises as ``reader`` does."""
    plain, convert, limits = CLASSES.get(type_), reader(type_), LIMITS.get(type_)

    def read(values: Items) -> Items:
        found = set(map(type, values))
        if found <= {plain, _NONE} and (limits is None or _are_within(values, found, *limits)):
            return values
        return [None if value is None else convert(value) for value in values]

    return read


def _are_within(values: Items, found: set[type], low: int, high: int) -> bool:
    known = [value for value in values if value is not None] if _NONE in found else values
    return not known or (low <= min(known) and max(known) <= high)


def _object_encoder(fields: Sequence[Field]) -> Callable[[RowColumns], Encoded | None]:
    types = [field.type for field in fields]
    writers = [writer(type_, finite=True) for type_ in types]
    option = json_option(types)
    objects = _objects(tuple(field.name for field in fields))
    encode_one, _ = json_codec(fields, is_unwrapped=False)
    has_doubles = any(part == DOUBLE for type_ in types for part in parts(type_))

    def encode(rows: RowColumns) -> Encoded | None:
        columns = [_written(c, w) for c, w in zip(rows.columns(), writers, strict=True)]
        data: list[bytes] = dumped(objects(columns), option)
        if has_doubles and b"null" in b"".join(data):
            # ``null`` may stand for NaN or infinity, which the format writes as text.
            return [
                encode_one(row) if b"null" in each else each
                for row, each in zip(rows, data, strict=True)
            ]
        return data

    return encode


def _single_encoder(type_: SqlType) -> Callable[[RowColumns], Encoded | None]:
    write, option = writer(type_, finite=False), json_option([type_])

    def encode(rows: RowColumns) -> Encoded | None:
        written = _written(rows.column(0), write)
        data = iter(dumped([value for value in written if value is not None], option))
        return [None if value is None else next(data) for value in written]

    return encode


def _written(column: Items, write: Callable[[Any], Any] | None) -> Items:
    if write is None:
        return column
    return [None if value is None else write(value) for value in column]


def _objects(names: tuple[str, ...]) -> Callable[[Sequence[Items]], list[dict[str, Any]]]:
    """Return the function from columns to one object per row.

    Its source code is generated: a dict display with fixed names takes a third of the time of
    ``dict`` over pairs.
    """
    arguments = "".join(f"v{n}, " for n in range(len(names)))
    members = ", ".join(f"{name!r}: v{n}" for n, name in enumerate(names))
    text = f"lambda columns: [{{{members}}} for {arguments} in zip(*columns, strict=True)]"
    return eval(text)  # type: ignore[no-any-return]  # noqa: S307 - names come as literals
