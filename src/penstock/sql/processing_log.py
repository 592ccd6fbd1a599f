"""The processing log of an engine: its settings, its topic and its stream.

The form of an entry: ``model.processing_log``. The code that writes it: ``kernel.processing_log``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.model.processing_log import ProcessingLogSpec
from penstock.model.sql.errors import AnalysisError
from penstock.sql.ksql_settings import DEFAULT_SERVICE, SERVICE_ID
from penstock.sql.syntax.format_expression import identifier, string

_PREFIX = "ksql.logging.processing."
TOPIC_AUTO_CREATE = f"{_PREFIX}topic.auto.create"
TOPIC_NAME = f"{_PREFIX}topic.name"
TOPIC_PARTITIONS = f"{_PREFIX}topic.partitions"
TOPIC_REPLICATION = f"{_PREFIX}topic.replication.factor"
STREAM_AUTO_CREATE = f"{_PREFIX}stream.auto.create"
STREAM_NAME = f"{_PREFIX}stream.name"
ROWS_INCLUDE = f"{_PREFIX}rows.include"

DEFAULT_STREAM = "KSQL_PROCESSING_LOG"
_TOPIC_SUFFIX = "ksql_processing_log"

_CAUSE = "cause ARRAY<VARCHAR>"
_TARGET = "target VARCHAR"
_ERROR = "errorMessage VARCHAR"
#: ksqlDB's columns, then those that ksqlDB does not have.
_COLUMNS = f"""logger VARCHAR, level VARCHAR, time BIGINT, message STRUCT<
    type INTEGER,
    deserializationError STRUCT<
        {_TARGET}, {_ERROR}, recordB64 VARCHAR, {_CAUSE}, `topic` VARCHAR>,
    recordProcessingError STRUCT<{_ERROR}, record VARCHAR, {_CAUSE}>,
    productionError STRUCT<{_ERROR}>,
    serializationError STRUCT<{_TARGET}, {_ERROR}, record VARCHAR, {_CAUSE}, `topic` VARCHAR>,
    kafkaStreamsThreadError STRUCT<{_ERROR}, threadName VARCHAR, {_CAUSE}>>,
    query_id VARCHAR, statement VARCHAR, expression VARCHAR, reason VARCHAR,
    origin STRUCT<topic VARCHAR, record_partition INTEGER, record_offset BIGINT,
        record_time BIGINT, record_key VARCHAR, record_value VARCHAR>"""


@dataclass(frozen=True, slots=True)
class ProcessingLogSettings:
    """The settings of an engine's processing log."""

    topic: str
    stream: str = DEFAULT_STREAM
    partitions: int = 1
    #: None means the default of the broker.
    replication: int | None = None
    creates_topic: bool = False
    creates_stream: bool = False
    includes_rows: bool = False

    @staticmethod
    def of(settings: Mapping[str, str]) -> ProcessingLogSettings:
        """Read the settings.

        Raises:
            AnalysisError: ``bad-setting``.
        """
        service = settings.get(SERVICE_ID, DEFAULT_SERVICE)
        return ProcessingLogSettings(
            topic=settings.get(TOPIC_NAME) or f"{service}{_TOPIC_SUFFIX}",
            stream=settings.get(STREAM_NAME) or DEFAULT_STREAM,
            partitions=_number(settings, TOPIC_PARTITIONS) or 1,
            replication=_number(settings, TOPIC_REPLICATION),
            creates_topic=_flag(settings, TOPIC_AUTO_CREATE),
            creates_stream=_flag(settings, STREAM_AUTO_CREATE),
            includes_rows=_flag(settings, ROWS_INCLUDE),
        )

    @property
    def is_wanted(self) -> bool:
        """Whether the settings ask for the topic of the log, or for the stream over it."""
        return self.creates_topic or self.creates_stream

    def create_stream(self) -> str:
        """Return the CREATE STREAM statement for the log."""
        replicas = "" if self.replication is None else f", REPLICAS={self.replication}"
        return (
            f"CREATE STREAM IF NOT EXISTS {identifier(self.stream)} ({_COLUMNS}) WITH ("
            f"KAFKA_TOPIC={string(self.topic)}, PARTITIONS={self.partitions}{replicas},"
            " KEY_FORMAT='NONE', VALUE_FORMAT='JSON');"
        )

    def spec(self, query_id: str, statement: str, reads: Iterable[str]) -> ProcessingLogSpec | None:
        """Return the description of the log that the tasks of a query need.

        A query that reads the log itself does not write to it: each failure would be its next input
        record, and fail again.
        """
        if self.topic in reads:
            return None
        return ProcessingLogSpec(self.topic, query_id, statement, self.includes_rows)


def _flag(settings: Mapping[str, str], name: str) -> bool:
    text = str(settings.get(name) or "false").strip().lower()
    if text not in ("true", "false"):
        raise _bad(name, text, "write true or false")
    return text == "true"


def _number(settings: Mapping[str, str], name: str) -> int | None:
    text = str(settings.get(name) or "").strip()
    if not text:
        return None
    if not text.isdigit() or int(text) < 1:
        raise _bad(name, text, "give a whole number of 1 or more")
    return int(text)


def _bad(name: str, text: str, fix: str) -> AnalysisError:
    return AnalysisError("bad-setting", f"setting {name!r} cannot be {text!r}", fix=fix)
