"""The named timestamp and topic extractors."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import penstock as ps
from tests.oracle.functions import Registry
from tests.oracle.values import field, fmt

Extract = Callable[[Any, int], int]


def _value(record: Any, _partition_time: int) -> int:
    time: int = record.timestamp if record.value is None else record.value
    return time


def _field(name: str) -> Extract:
    def extract(record: Any, _partition_time: int) -> int:
        member = field(record.value, name)
        is_long = isinstance(member, int) and not isinstance(member, bool)
        time: int = member if is_long else record.timestamp
        return time

    return extract


timestamp_extractor = Registry(
    "timestamp extractor",
    {
        "record": lambda _: ps.FailOnInvalidTimestamp(),
        "log_and_skip": lambda _: ps.LogAndSkipOnInvalidTimestamp(),
        "use_partition_time": lambda _: ps.UsePartitionTimeOnInvalidTimestamp(),
        "const": lambda n: lambda _record, _partition_time: int(n),
        "value": lambda _: _value,
        "field": _field,
        "partition_time_plus": lambda n: lambda _record, time: time + int(n),
    },
)

_topic = Registry(
    "topic extractor",
    {
        "value": lambda prefix: lambda _k, v, _context: prefix + fmt(v),
        "key": lambda prefix: lambda k, _v, _context: prefix + fmt(k),
        "field": lambda name: lambda _k, v, _context: field(v, name),
        "source_topic": lambda prefix: lambda _k, _v, context: prefix + context.topic,
        "prefixed": lambda rest: _prefixed(*rest.split(":", 1)),
    },
)


def _prefixed(prefix: str, spec: str) -> Callable[..., str]:
    """Not in the format: where every topic has a prefix, extractors add it and see none."""
    extract = _topic(spec)

    def extracted(key: Any, value: Any, context: Any) -> str:
        topic = (context.topic or "").removeprefix(prefix)
        return prefix + extract(key, value, SimpleNamespace(topic=topic))

    return extracted


class TopicExtractor:
    """Names a sink topic per record; prints as its spec, as descriptions show it."""

    def __init__(self, spec: str) -> None:
        self._spec = spec
        self._extract = _topic(spec)

    def __call__(self, key: Any, value: Any, context: Any) -> str:
        topic: str = self._extract(key, value, context)
        return topic

    def __repr__(self) -> str:
        return self._spec
