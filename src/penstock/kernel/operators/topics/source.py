"""Decodes records of an input topic. Node: ``topology.nodes.topics.source``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.errors import StreamsError, UnavailableError
from penstock.kernel.executor import Executor, executes
from penstock.kernel.record_queue import Decoder, Head, RawRecord
from penstock.kernel.serdes import required_serde
from penstock.model.record import ConsumerRecord, Headers
from penstock.model.rules.drop_reasons import NEGATIVE_TIMESTAMP
from penstock.processor.functions import (
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    TimestampExtractor,
    UsePartitionTimeOnInvalidTimestamp,
)
from penstock.processor.handlers import LogAndFailExceptionHandler
from penstock.serde.base import Serde
from penstock.topology.nodes import Source

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask

Decode = Callable[[bytes], Any]

#: Timestamp extractors that take the record's own timestamp unless it is negative.
_OWN_TIME = (
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    UsePartitionTimeOnInvalidTimestamp,
)


def takes_own_time(node: Source, task: StreamTask) -> bool:
    """Tell whether records keep the timestamps that they have in Kafka."""
    extract = node.timestamp_extractor or task.settings.timestamp_extractor
    return type(extract) in _OWN_TIME


@executes(Source)
class SourceExecutor(Executor[Source]):
    """Forwards every record. The task calls its ``forward`` directly."""

    def process(self, key: Any, value: Any, timestamp: int, headers: Headers) -> None:
        self.forward(key, value, timestamp, headers)


class SourceDecoder:
    """Decodes records of one source and finds their timestamps; ``None`` for a skipped record."""

    def __init__(
        self, node: Source, task: StreamTask, *, extract: TimestampExtractor | None = None
    ) -> None:
        what = f"source node {node.name!r}"
        self._node = node
        self._task = task
        key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
        value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
        self._key, self._value = key.deserialize, value.deserialize
        default = task.settings.timestamp_extractor
        self._extract = extract or node.timestamp_extractor or default
        #: Decodes a raw record, given the partition time; ``None`` if the record is skipped.
        self.decode: Decoder = self._decode
        are_plain = all(type(s).deserialize is Serde.deserialize for s in (key, value))
        if are_plain and type(self._extract) in _OWN_TIME:
            self.decode = self._plain_decode(key.decode, value.decode)

    def _decode(self, raw: RawRecord, partition_time: int) -> Head | None:
        topic, partition, offset, timestamp, raw_key, raw_value, headers = raw
        part = "key"
        try:
            key = self._key(topic, raw_key, headers)
            part = "value"
            value = self._value(topic, raw_value, headers)
        except Exception as error:  # noqa: BLE001 - any serde; the handler decides
            self._task.failures.deserialization(self._node, RawRecord(*raw), error, part)
            return None
        record = ConsumerRecord(topic, partition, offset, timestamp, key, value, headers)
        timestamp = self._timestamp(record, partition_time)
        if timestamp < 0:
            self._task.dropped(self._node.name, NEGATIVE_TIMESTAMP, raw)
            return None
        return raw, key, value, timestamp

    def _plain_decode(self, decode_key: Decode, decode_value: Decode) -> Decoder:
        """Return a faster function for serdes that need only bytes, if timestamps are kept."""
        slowly = self._decode

        def decode(raw: RawRecord, partition_time: int) -> Head | None:
            _, _, _, timestamp, key, value, _ = raw
            if timestamp < 0:
                return slowly(raw, partition_time)
            try:
                if key is not None:
                    key = decode_key(key)
                if value is not None:
                    value = decode_value(value)
            except Exception:  # noqa: BLE001 - the slow way finds out what is wrong
                return slowly(raw, partition_time)
            return raw, key, value, timestamp

        return decode

    @property
    def keeps_all(self) -> bool:
        """Whether no record is skipped, and none gets another timestamp."""
        return isinstance(self._extract, FailOnInvalidTimestamp) and isinstance(
            self._task.settings.on_deserialization, LogAndFailExceptionHandler
        )

    def restored(self, raw: RawRecord, partition_time: int) -> int | None:
        """Return the timestamp of a record from before a restart; ``None`` if it was skipped."""
        try:
            key = self._key(raw.topic, raw.key, raw.headers)
            value = self._value(raw.topic, raw.value, raw.headers)
        except UnavailableError:
            # The record may be a good one, so it must not be missing in the restored state.
            raise
        except Exception:  # noqa: BLE001 - the handler was asked when the record was processed
            return None
        record = ConsumerRecord(*raw[:4], key, value, raw.headers)
        timestamp = self._timestamp(record, partition_time)
        return None if timestamp < 0 else timestamp

    def _timestamp(self, record: ConsumerRecord[Any, Any], partition_time: int) -> int:
        try:
            timestamp = self._extract(record, partition_time)
        except StreamsError as error:
            raise error.located(self._node.site) from error.__cause__
        except Exception as error:
            raise StreamsError(
                "timestamp-extractor",
                f"the timestamp extractor of source {self._node.name!r} raised {error!r}"
                f"\n  record: topic {record.topic!r} partition {record.partition}"
                f" offset {record.offset}",
                "make the extractor return a timestamp for every record, -1 to drop it",
                self._node.site,
            ) from error
        if isinstance(timestamp, int):
            return timestamp
        raise StreamsError(
            "timestamp-extractor",
            f"the timestamp extractor of source {self._node.name!r} returned {timestamp!r}"
            f"\n  record: topic {record.topic!r} partition {record.partition}"
            f" offset {record.offset}",
            "return milliseconds since the epoch as an int, -1 to drop the record",
            self._node.site,
        )
