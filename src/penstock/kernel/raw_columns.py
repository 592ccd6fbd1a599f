"""The records of one input partition as columns, before anything is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from penstock.kernel.record_queue import RawRecord
from penstock.model.record import Headers

if TYPE_CHECKING:
    # A task that runs record at a time does not need numpy, which takes a while to import.
    import numpy as np
    from numpy.typing import NDArray

#: Timestamps in the producer's own representation: a list, an Arrow array or a numpy array.
Timestamps: TypeAlias = "Sequence[int] | NDArray[np.int64]"


def listed(times: Timestamps) -> Sequence[int]:
    """Return timestamps as a list of Python's own integers."""
    to_list: Any = getattr(times, "tolist", None)
    return times if to_list is None else to_list()  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class RawColumns:
    """One column per field of ``RawRecord``, in the order of offsets.

    ``headers`` is ``None`` if no record has any. Iterating returns the records one at a time.
    """

    topic: str
    partition: int
    offsets: Sequence[int]
    timestamps: Timestamps
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def cut(self, first: int, after: int) -> RawColumns:
        """Return the records from the first place up to, but not including, the last."""
        if first == 0 and after >= len(self):
            return self
        span = slice(first, after)
        keys = values = self.keys[span]
        if self.values is not self.keys:
            values = self.values[span]
        return RawColumns(
            self.topic, self.partition, self.offsets[span], self.timestamps[span], keys, values,
            None if self.headers is None else self.headers[span],
        )  # fmt: skip

    def record(self, place: int) -> RawRecord:
        """Return one record."""
        return RawRecord(
            self.topic, self.partition, self.offsets[place], int(self.timestamps[place]),
            self.keys[place], self.values[place],
            () if self.headers is None else self.headers[place],
        )  # fmt: skip

    def take(self, places: Sequence[int]) -> RawColumns:
        """Return the records at these places, in this order."""
        return RawColumns(
            self.topic, self.partition,
            [self.offsets[n] for n in places], picked(self.timestamps, places),
            picked(self.keys, places), picked(self.values, places),
            None if self.headers is None else [self.headers[n] for n in places],
        )  # fmt: skip

    def __iter__(self) -> Iterator[RawRecord]:
        fields = zip(
            repeat(self.topic), repeat(self.partition), self.offsets, listed(self.timestamps),
            self.keys, self.values, repeat(()) if self.headers is None else self.headers,
            strict=False,
        )  # fmt: skip
        # A plain tuple of the same shape is enough, and costs a third.
        return cast("Iterator[RawRecord]", fields)


def picked(column: Any, places: Sequence[int]) -> Any:
    """Return the items at these places; use the column's own method if it has one."""
    take: Any = getattr(column, "take", None)
    return [column[n] for n in places] if take is None else take(places)


def columns_of(topic: str, partition: int, records: Iterable[RawRecord]) -> RawColumns:
    """Turn records of one partition into columns."""
    columns = tuple(zip(*records, strict=True))
    if not columns:
        return RawColumns(topic, partition, (), (), (), ())
    _, _, offsets, timestamps, keys, values, headers = columns
    return RawColumns(
        topic, partition, offsets, timestamps, keys, values, headers if any(headers) else None
    )
