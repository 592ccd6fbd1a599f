"""Sources: topics as rows with pseudo columns, key and window bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock.dsl.faces.kstream import KStream
from penstock.dsl.faces.ktable import KTable
from penstock.dsl.options.materialized import Materialized
from penstock.errors import StreamsError
from penstock.model.column_function import ColumnFunction
from penstock.model.columns.row_columns import Items, RowColumns
from penstock.model.record import ConsumerRecord, FixedKeyRecord, Headers
from penstock.processor.processor import FixedKeyProcessor
from penstock.processor.supplier import ColumnSupplier
from penstock.sql.ast.expressions import ColumnRef
from penstock.sql.catalog.catalog import DataSource
from penstock.sql.catalog.schema import PSEUDO_COLUMNS
from penstock.sql.planner.lowering.column_forms import ColumnForm, rows_in, with_key
from penstock.sql.planner.lowering.context import Lowering, Row
from penstock.sql.planner.lowering.expiry import expiring
from penstock.sql.planner.lowering.pending import Lowered, PendingRows, PendingUpserts, made
from penstock.sql.planner.steps import DerivedStep, SourceStep
from penstock.sql.timestamps import timestamp_reader

_PSEUDO = len(PSEUDO_COLUMNS)
THROW_ON_INVALID = "ksql.timestamp.throw.on.invalid"


def lower_source(step: SourceStep, lowering: Lowering) -> Lowered:
    """Read a stream's or a table's topic; tables keep their rows in a store."""
    rows = _rows(_stream(step.source, lowering), step, lowering)
    if not step.is_table:
        return rows
    store: Materialized[Any, Any] = Materialized(
        name=f"{step.name}-Reduce",
        key=lowering.key_serde(step),
        value=lowering.value_serde(step),
    )
    # There, a table is read by a source with a store of its own, and changed twice.
    lowering.skip_names(2)
    return made(rows).to_table(store)  # type: ignore[no-any-return]


def _stream(source: DataSource, lowering: Lowering) -> KStream[Any, Any]:
    """Read a topic once, however often the query names its stream or table."""
    if source.name not in lowering.streams:
        steps = [each for each in lowering.sources if each.source.name == source.name]
        is_read = any(_is_read(each, lowering) for each in steps)
        stream: KStream[Any, Any] = lowering.builder.stream(
            source.topic,
            key=lowering.topic_key_serde(source),
            value=lowering.topic_value_serde(source, is_read=is_read),
            timestamp_extractor=timestamp_extractor(source, lowering),
        )
        if source.is_table and source.ttl_ms is not None:
            stream = expiring(stream, source, lowering)
        lowering.streams[source.name] = stream
    return lowering.streams[source.name]


def lower_derived(step: DerivedStep, lowering: Lowering, rows: Any) -> Any:
    """Add key and pseudo columns to the rows of an inner query."""
    is_windowed = step.window is not None
    if isinstance(rows, PendingUpserts):
        return rows.mapped(lambda key, row: (*row, *key))
    rows = made(rows)
    if isinstance(rows, KTable):
        # A foreign-key join writes the rows of both sides to topics.
        serde = lowering.value_serde(step)
        if is_windowed:
            return rows.map_values(
                lambda key, row: (*row, *key.key, key.window.start, key.window.end),
                value=serde,
            )
        return rows.map_values(lambda key, row: (*row, *key), value=serde)
    width = len(step.key)
    if not is_windowed and not _uses_pseudo_columns(step, lowering):
        return PendingRows(rows, _plain_rows(width), _plain_columns(width))
    supplier = _RowSupplier(width, (), is_windowed, _uses_place(step, lowering))
    return rows.process_values(supplier)


def _rows(stream: KStream[Any, Any], step: SourceStep, lowering: Lowering) -> Lowered:
    source = step.source
    key_width = len(source.schema.key)
    headers = tuple(column.header for column in source.schema.headers)
    is_windowed = source.window is not None
    if not headers and not is_windowed and not _uses_pseudo_columns(step, lowering):
        return PendingRows(stream, _plain_rows(key_width), _plain_columns(key_width))
    supplier = _RowSupplier(key_width, headers, is_windowed, _uses_place(step, lowering))
    return stream.process_values(supplier)


def _uses_pseudo_columns(step: SourceStep | DerivedStep, lowering: Lowering) -> bool:
    alias = step.columns[0].source
    return any(ColumnRef(name, alias) in lowering.used for name, _ in PSEUDO_COLUMNS)


def _uses_place(step: SourceStep | DerivedStep, lowering: Lowering) -> bool:
    """Return whether the query uses ROWPARTITION or ROWOFFSET."""
    alias = step.columns[0].source
    return any(ColumnRef(name, alias) in lowering.used for name in ("ROWPARTITION", "ROWOFFSET"))


def _is_read(step: SourceStep, lowering: Lowering) -> bool:
    """Return whether the query uses values of the source; a table stores all of them."""
    source = step.source
    if source.is_table or source.timestamp is not None:
        return True
    alias = step.columns[0].source
    return any(ColumnRef(each.name, alias) in lowering.used for each in source.schema.value)


def _plain_rows(key_width: int) -> Callable[[Any, Row | None], Row | None]:
    """Return rows for a query that uses no pseudo columns: these are NULL, at no cost."""
    unknown = (None,) * _PSEUDO
    without_key = (*unknown, *(None,) * key_width)

    def row(key: Any, value: Row | None) -> Row | None:
        if value is None:
            return None
        return value + without_key if key is None else value + unknown + key

    return ColumnFunction(row)


def _plain_columns(key_width: int) -> ColumnForm:
    def over_columns(keys: Any, values: Any) -> tuple[None, RowColumns] | None:
        rows = rows_in(values)
        return None if rows is None else (None, with_key(rows, keys, key_width, _PSEUDO))

    return over_columns


@dataclass(frozen=True)
class _RowSupplier(ColumnSupplier):
    """Makes processors that turn records into rows, and does the same to whole batches.

    A batch has partitions and offsets only if ``reads_origins`` is set. Otherwise ROWPARTITION and
    ROWOFFSET are NULL over columns, in a query that does not use them.
    """

    key_width: int
    headers: tuple[str | None, ...]
    is_windowed: bool
    reads_origins: bool = False

    def __call__(self) -> _AddColumns:
        return _AddColumns(self.key_width, self.headers, self.is_windowed)

    def over_columns(self, batch: Any) -> Sequence[Any] | None:
        """Return the rows of a batch; None if a windowed key is missing."""
        values = batch.values.values()
        count = len(values)
        place = self._place(batch, count)
        if place is None or (self.is_windowed and batch.keys.has_nulls()):
            return None
        added = [*self._header_columns(batch, count), *place, *self._key_columns(batch.keys)]
        if isinstance(values, RowColumns):
            return RowColumns([*values.lazily(), *added], count)
        # Some records have no row, and stay without one.
        more = RowColumns(added, count)
        return [v if v is None else (*v, *row) for v, row in zip(values, more, strict=True)]

    def _header_columns(self, batch: Any, count: int) -> list[Callable[[], Items]]:
        def column(name: str | None) -> Items:
            of_all: Sequence[Headers] = batch.headers or [()] * count
            return [header_value(headers, name) for headers in of_all]

        return [partial(column, name) for name in self.headers]

    def _place(self, batch: Any, count: int) -> list[Callable[[], Items]] | None:
        """Return ROWTIME, ROWPARTITION and ROWOFFSET."""
        times = batch.timestamps.tolist
        if not self.reads_origins:
            return [times, lambda: [None] * count, lambda: [None] * count]
        origins = batch.origins
        if origins is None:
            return None
        return [times, lambda: [origins.partition] * count, origins.offsets.tolist]

    def _key_columns(self, keys: Any) -> list[Callable[[], Items]]:
        places = range(self.key_width)
        if not self.is_windowed:
            return [partial(_key_column, keys.values, place) for place in places]

        def plain() -> list[Any]:
            return [windowed.key for windowed in keys.values()]

        bounds: list[Callable[[], Items]] = [
            lambda: [windowed.window.start for windowed in keys.values()],
            lambda: [windowed.window.end for windowed in keys.values()],
        ]
        return [*(partial(_key_column, plain, place) for place in places), *bounds]


def _key_column(keys: Callable[[], Any], place: int) -> Items:
    found = keys()
    if isinstance(found, RowColumns):
        return found.column(place)
    return [None if key is None else key[place] for key in found]


class _AddColumns(FixedKeyProcessor[Any, Any, Any]):
    """Turns a record into a row; a record without a value has no row."""

    def __init__(self, key_width: int, headers: tuple[str | None, ...], is_windowed: bool) -> None:
        self._no_key = (None,) * key_width
        self._headers = headers
        self._is_windowed = is_windowed

    def process(self, record: FixedKeyRecord[Any, Any]) -> None:
        value = record.value
        if value is None:
            self.context.forward(record)
            return
        at = self.context.record_metadata
        place = (record.timestamp, at.partition, at.offset) if at else (record.timestamp, -1, -1)
        key = record.key
        bounds: tuple[int, ...] = ()
        if self._is_windowed and key is not None:
            bounds = (key.window.start, key.window.end)
            key = key.key
        row = (
            *value,
            *(header_value(record.headers, name) for name in self._headers),
            *place,
            *(self._no_key if key is None else key),
            *bounds,
        )
        self.context.forward(record.with_value(row))


def header_value(headers: Headers, name: str | None) -> Any:
    """Return the value of a header column: of the header of a name, or of all headers."""
    if name is None:
        return [{"KEY": key, "VALUE": value} for key, value in headers]
    # If several headers have the name, the last one counts.
    return next((value for key, value in reversed(headers) if key == name), None)


def timestamp_extractor(
    source: DataSource, lowering: Lowering
) -> Callable[[ConsumerRecord[Any, Any], int], int] | None:
    """Return the extractor of the TIMESTAMP column; None if there is no such column."""
    timestamp = source.timestamp
    if timestamp is None:
        return None
    throws = str(lowering.environment.settings.get(THROW_ON_INVALID, "")).lower() == "true"
    read = timestamp_reader(timestamp)
    take = _column_reader(source, timestamp.name)

    def extract(record: ConsumerRecord[Any, Any], partition_time: int) -> int:
        if record.value is None:
            return record.timestamp
        found = read(take(record))
        if throws and (found is None or found < 0):
            raise StreamsError(
                "invalid-timestamp",
                f"{source.name}: column {timestamp.name} of the record at topic {record.topic!r}"
                f" partition {record.partition} offset {record.offset} has no valid time",
                fix=f"correct the record, or unset {THROW_ON_INVALID} to skip such records",
            )
        # A record without a valid time is dropped, like one with a negative timestamp.
        return -1 if found is None else found

    return ColumnFunction(extract)


def _column_reader(source: DataSource, name: str) -> Callable[[ConsumerRecord[Any, Any]], Any]:
    keys = [column.name for column in source.schema.key]
    if name in keys:
        place = keys.index(name)
        return lambda record: None if record.key is None else _plain(record.key)[place]
    values = [column.name for column in source.schema.value]
    place = values.index(name)
    return lambda record: record.value[place]


def _plain(key: Any) -> Row:
    plain: Row = getattr(key, "key", key)
    return plain
