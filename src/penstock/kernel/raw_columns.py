"""Records of one input partition as columns: what a batch is before anything is decoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from penstock.kernel.record_queue import RawRecord
from penstock.model.record import Headers

if TYPE_CHECKING:
    # Records one at a time need no numpy, which takes a while to import.
    import numpy as np
    from numpy.typing import NDArray

#: Times as whoever has made them has them.
Timestamps: TypeAlias = "Sequence[int] | NDArray[np.int64]"


def listed(times: Timestamps) -> Sequence[int]:
    """Times one by one, as Python's own numbers."""
    to_list: Any = getattr(times, "tolist", None)
    return times if to_list is None else to_list()  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class RawColumns:
    """One column per field of ``RawRecord``, in offset order.

    ``headers`` is None if no record has any. Iterating gives the records one at a time, for
    whoever works that way.
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
        """The records from one place up to, not including, another."""
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
        """One record by itself."""
        return RawRecord(
            self.topic, self.partition, self.offsets[place], int(self.timestamps[place]),
            self.keys[place], self.values[place],
            () if self.headers is None else self.headers[place],
        )  # fmt: skip

    def take(self, places: Sequence[int]) -> RawColumns:
        """The records at these places, in this order."""
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
        # A plain tuple of this shape does as well, and costs a third.
        return cast("Iterator[RawRecord]", fields)


def picked(column: Any, places: Sequence[int]) -> Any:
    """The items at these places; a column that has a cheaper way of its own takes that."""
    take: Any = getattr(column, "take", None)
    return [column[n] for n in places] if take is None else take(places)


def columns_of(topic: str, partition: int, records: Iterable[RawRecord]) -> RawColumns:
    """Turns records of one partition into columns."""
    columns = tuple(zip(*records, strict=True))
    if not columns:
        return RawColumns(topic, partition, (), (), (), ())
    _, _, offsets, timestamps, keys, values, headers = columns
    return RawColumns(
        topic, partition, offsets, timestamps, keys, values, headers if any(headers) else None
    )
