"""WITH (...): the properties that a statement accepts, and their checked values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from penstock.errors import InvalidArgumentError
from penstock.model.lake_table import lake_table
from penstock.model.sql.errors import AnalysisError, did_you_mean
from penstock.model.sql.span import Span
from penstock.sql.ast.expressions import BooleanLiteral, IntegerLiteral, StringLiteral
from penstock.sql.ast.queries import UNIT_MS
from penstock.sql.ast.statements import Property
from penstock.sql.catalog.catalog import TimestampColumn, TopicSettings, WindowKind, WindowSpec

#: Kafka's protocol has 32 bits for the number of partitions, and 16 for that of replicas.
_MOST_PARTITIONS, _MOST_REPLICAS = 2**31 - 1, 2**15 - 1
_TOPIC = ("KAFKA_TOPIC", "PARTITIONS", "REPLICAS", "RETENTION_MS", "CLEANUP_POLICY")
_FORMATS = (
    "FORMAT",
    "KEY_FORMAT",
    "VALUE_FORMAT",
    "KEY_DELIMITER",
    "VALUE_DELIMITER",
    "KEY_SCHEMA_ID",
    "VALUE_SCHEMA_ID",
    "KEY_SCHEMA_FULL_NAME",
    "VALUE_SCHEMA_FULL_NAME",
    "VALUE_AVRO_SCHEMA_FULL_NAME",
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION",
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION",
    "WRAP_SINGLE_VALUE",
)
_TIME = ("TIMESTAMP", "TIMESTAMP_FORMAT")
CREATE_PROPERTIES = (
    *_TOPIC,
    *_FORMATS,
    *_TIME,
    "WINDOW_TYPE",
    "WINDOW_SIZE",
    "SOURCED_BY_CONNECTOR",
    "ROW_TTL",
)
CREATE_AS_PROPERTIES = (*_TOPIC, *_FORMATS, *_TIME, "ROW_TTL", "SINK", "SINK_MODE")
INSERT_PROPERTIES = ("QUERY_ID",)
ASSERT_TOPIC_PROPERTIES = ("PARTITIONS", "REPLICAS")


@dataclass(frozen=True, slots=True)
class WithProperties:
    """The properties of one statement by upper-case name, each with its span in the text."""

    values: dict[str, str | int | bool]
    spans: dict[str, Span | None]

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        return None if value is None else str(value)

    def name(self, name: str) -> str | None:
        """Return a column's name: in upper case unless it is in backquotes."""
        text = self.text(name)
        if text is None:
            return None
        if len(text) > 1 and text[0] == text[-1] and text[0] in '`"':
            return text[1:-1]
        return text.upper()

    def number(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        try:
            return int(value)
        except ValueError:
            raise self.bad(name, f"{name} takes a whole number, not {value!r}") from None

    def at_least(self, name: str, least: int) -> int | None:
        number = self.number(name)
        if number is not None and number < least:
            raise self.bad(name, f"{name} must be {least} or more, not {number}")
        return number

    def _count(self, name: str, most: int) -> int | None:
        value = self.at_least(name, 1)
        if value is not None and value > most:
            raise self.bad(name, f"{name} is {value}, and Kafka has room for {most}")
        return value

    def topic(self, *, is_compacted: bool) -> TopicSettings:
        """Return the settings of a topic. A compacted one keeps the last record of each key."""
        if "CLEANUP_POLICY" in self.values:
            raise self.bad(
                "CLEANUP_POLICY",
                "CLEANUP_POLICY cannot be chosen: tables are compacted, streams are not",
                fix="leave CLEANUP_POLICY out",
            )
        retention_ms = self.at_least("RETENTION_MS", -1)
        if retention_ms is not None and is_compacted:
            raise self.bad(
                "RETENTION_MS",
                "RETENTION_MS is for streams and windowed tables: a table keeps all of its rows",
                fix="leave RETENTION_MS out",
            )
        return TopicSettings(
            self._count("PARTITIONS", _MOST_PARTITIONS),
            self._count("REPLICAS", _MOST_REPLICAS),
            retention_ms,
        )

    def flag(self, name: str) -> bool | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool):
            return value
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise self.bad(name, f"{name} takes TRUE or FALSE, not {value!r}")

    def bad(self, name: str, message: str, fix: str | None = None) -> AnalysisError:
        return AnalysisError("bad-property", message, fix, span=self.spans.get(name))

    def format(self, side: str) -> str | None:
        """Return KEY_FORMAT or VALUE_FORMAT; FORMAT sets both."""
        own, both = self.text(f"{side}_FORMAT"), self.text("FORMAT")
        if own is not None and both is not None:
            raise self.bad(
                "FORMAT",
                f"FORMAT and {side}_FORMAT cannot be given together",
                fix="use FORMAT alone, or KEY_FORMAT and VALUE_FORMAT without it",
            )
        chosen = own or both
        return None if chosen is None else chosen.upper()

    def timestamp(self) -> TimestampColumn | None:
        column = self.name("TIMESTAMP")
        if column is None:
            if "TIMESTAMP_FORMAT" in self.values:
                raise self.bad("TIMESTAMP_FORMAT", "TIMESTAMP_FORMAT needs a TIMESTAMP column")
            return None
        return TimestampColumn(column, self.text("TIMESTAMP_FORMAT"))

    def window(self) -> WindowSpec | None:
        kind = self.text("WINDOW_TYPE")
        if kind is None:
            if "WINDOW_SIZE" in self.values:
                raise self.bad("WINDOW_SIZE", "WINDOW_SIZE needs a WINDOW_TYPE")
            return None
        kind = kind.upper()
        if kind not in ("TUMBLING", "HOPPING", "SESSION"):
            raise self.bad(
                "WINDOW_TYPE",
                f"WINDOW_TYPE {kind!r} does not exist",
                fix="use TUMBLING, HOPPING or SESSION",
            )
        size = self.text("WINDOW_SIZE")
        if kind == "SESSION":
            if size is not None:
                raise self.bad("WINDOW_SIZE", "SESSION windows have no WINDOW_SIZE")
            return WindowSpec("SESSION")
        if size is None:
            raise self.bad("WINDOW_TYPE", f"{kind} windows need a WINDOW_SIZE")
        return WindowSpec(cast(WindowKind, kind), self._duration("WINDOW_SIZE", size))

    def ttl_ms(self) -> int | None:
        """Return the time to live of rows; None if they do not expire."""
        text = self.text("ROW_TTL")
        if text is None:
            return None
        ttl_ms = self._duration("ROW_TTL", text)
        if ttl_ms < 1:
            raise self.bad("ROW_TTL", "ROW_TTL must be longer than 0")
        return ttl_ms

    def table_ttl_ms(self, kind: str) -> int | None:
        """Return the time to live of the rows of a declared table."""
        ttl_ms = self.ttl_ms()
        if ttl_ms is None:
            return None
        if kind != "TABLE" or "WINDOW_TYPE" in self.values or "TIMESTAMP" in self.values:
            raise self.bad(
                "ROW_TTL",
                "ROW_TTL is for tables without windows and without a TIMESTAMP column",
                fix="give a stream a RETENTION_MS, and a windowed aggregation a RETENTION",
            )
        return ttl_ms

    def lake(self) -> str | None:
        """Return the table of a lakehouse that gets the rows, too, as ``to_lake`` names it."""
        text = self.text("SINK")
        if text is None:
            return None
        try:
            return str(lake_table(text))
        except InvalidArgumentError as error:
            raise self.bad("SINK", error.message, error.fix) from None

    def has_present_rows(self, kind: str, keys: int) -> bool:
        """Return whether the table of a lakehouse holds the present rows, and not the changes.

        Args:
            kind: STREAM or TABLE.
            keys: how many key columns there are.
        """
        mode = (self.text("SINK_MODE") or "CHANGES").upper()
        if mode not in ("CHANGES", "PRESENT"):
            raise self.bad("SINK_MODE", f"SINK_MODE takes CHANGES or PRESENT, not {mode!r}")
        if "SINK_MODE" in self.values and "SINK" not in self.values:
            raise self.bad("SINK_MODE", "SINK_MODE needs a SINK")
        if mode == "PRESENT" and (kind != "TABLE" or keys != 1):
            raise self.bad(
                "SINK_MODE",
                f"present rows are those of a TABLE with one key, not of a {kind} with {keys}",
                fix="leave SINK_MODE out: every change is a row",
            )
        return mode == "PRESENT"

    def _duration(self, name: str, text: str) -> int:
        parts = text.upper().split()
        units: dict[str, int] = {}
        for unit, ms in UNIT_MS.items():
            units[unit] = units[unit.removesuffix("S")] = ms
        if len(parts) == 2 and parts[0].isdigit() and parts[1] in units:
            return int(parts[0]) * units[parts[1]]
        raise self.bad(name, f"{name} {text!r} is not a duration", fix="write it as '10 SECONDS'")


def read_properties(properties: Iterable[Property], allowed: Iterable[str]) -> WithProperties:
    """Check names and convert literals to values; raise an AnalysisError for an unknown name."""
    known = tuple(allowed)
    values: dict[str, str | int | bool] = {}
    spans: dict[str, Span | None] = {}
    for item in properties:
        name = item.name.upper()
        if name not in known:
            raise AnalysisError(
                "unknown-property",
                f"property {item.name!r} cannot be used here",
                fix=did_you_mean(name, known) or f"use one of {', '.join(known)}",
                span=item.span,
            )
        if name in values:
            raise AnalysisError("duplicate-property", f"{name} is given twice", span=item.span)
        values[name] = _value(item)
        spans[name] = item.span
    return WithProperties(values, spans)


def _value(item: Property) -> str | int | bool:
    match item.value:
        case StringLiteral(text):
            return text
        case IntegerLiteral(number):
            return number
        case BooleanLiteral(flag):
            return flag
        case _:
            raise AnalysisError(
                "bad-property",
                f"{item.name} takes a string, a whole number or a boolean",
                span=item.span,
            )
