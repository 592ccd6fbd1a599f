"""Asks the timestamp extractor of a source about a whole batch, for ``columns.column_task``.

Record executors have ``kernel.operators.topics.source``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.batch_column import input_column
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.functions import called, checked_by, pure
from penstock.kernel.columns.subscriptions import MESSAGE_SERDES
from penstock.kernel.operators.topics.source import takes_own_time
from penstock.kernel.raw_columns import RawColumns, listed
from penstock.kernel.serdes import required_serde
from penstock.model.column_function import ColumnFunction
from penstock.model.record import ConsumerRecord
from penstock.model.user_code import user_code
from penstock.processor.functions import WallclockTimestampExtractor
from penstock.serde.change import ChangeSerde
from penstock.topology.nodes import Source

if TYPE_CHECKING:
    from penstock.kernel.task import StreamTask

#: Takes the records of a queue and its partition time; returns them with other timestamps.
Timed = Callable[[RawColumns, int], RawColumns]


def event_times(node: Source, task: StreamTask) -> Timed | None:
    """Return what asks the extractor of a source; ``None`` if records keep their own timestamps.

    Raises:
        NotVectorisableError: if the extractor may have side effects, or sees what is no value of
            the user.
    """
    if takes_own_time(node, task):
        return None
    given = node.timestamp_extractor or task.settings.timestamp_extractor
    # What time it is when a record is asked about is no part of any result.
    may_tell_time = type(given) is WallclockTimestampExtractor
    extract = ColumnFunction(given) if may_tell_time else pure(given, "its timestamp extractor")
    what = f"source node {node.name!r}"
    key = required_serde(node.key_serde, task.defaults, "key", what, node.site)
    value = required_serde(node.value_serde, task.defaults, "value", what, node.site)
    if isinstance(value, (ChangeSerde, *MESSAGE_SERDES)):
        raise NotVectorisableError("its timestamp extractor sees changes of a table")
    fn, checked = called(extract), checked_by(extract)

    def timed(raw: RawColumns, partition_time: int) -> RawColumns:
        keys, values = input_column(raw.keys, key), input_column(raw.values, value)
        headers = repeat(()) if raw.headers is None else raw.headers
        records = map(
            ConsumerRecord, repeat(raw.topic), repeat(raw.partition), raw.offsets,
            listed(raw.timestamps), checked(keys.values()), checked(values.values()), headers,
        )  # fmt: skip
        return replace(raw, timestamps=_asked(fn, records, partition_time))

    return timed


def _asked(fn: Callable[[Any, int], Any], records: Any, partition_time: int) -> Any:
    """Return the timestamps; a record is asked about after those before it have been taken."""
    times: list[Any] = []
    with user_code("a timestamp extractor"):
        for record in records:
            time = fn(record, partition_time)
            times.append(time)
            if time > partition_time:
                partition_time = time
    if not {*map(type, times)} <= {int} or min(times, default=0) < 0:
        # The reference drops such a record, or says what is wrong with it.
        raise NotProvenError("a record gets no timestamp")
    return np.array(times, np.int64)
