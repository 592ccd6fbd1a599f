"""One field of every record in a batch, in the representation that is cheapest so far."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.model.columns.dictionary_bytes import DictionaryBytes
from penstock.model.columns.row_columns import RowColumns, kept, taken
from penstock.model.windows.windowed import Window, Windowed, window_end
from penstock.serde.base import Serde
from penstock.serde.column_serde import Encoded
from penstock.serde.columns import decode_all, encode_all, known, same_bytes
from penstock.serde.windowed import TimeWindowedSerde

Times = NDArray[np.int64]
Places = NDArray[np.int64]


class BatchColumn:
    """One field of every record: as values, as bytes, or both.

    The missing form is made when it is first asked for, and kept.
    """

    __slots__ = ("_encoded", "_is_input", "_serde", "_values")

    def __init__(
        self,
        values: Sequence[Any] | None = None,
        encoded: Encoded | None = None,
        serde: Serde[Any] | None = None,
        *,
        is_input: bool = True,
    ) -> None:
        self._values = values
        self._encoded = encoded
        self._serde = serde
        #: Whether the bytes come from a topic or a store. Such bytes may differ from those that the
        #: serde would write for the same value.
        self._is_input = is_input

    def __len__(self) -> int:
        return len(self._known)

    @property
    def _known(self) -> Sequence[Any]:
        known = self._encoded if self._values is None else self._values
        assert known is not None
        return known

    def values(self) -> Sequence[Any]:
        if self._values is None:
            assert self._serde is not None
            assert self._encoded is not None
            self._values = decode_all(self._serde, self._encoded)
        return self._values

    def encoded(self, serde: Serde[Any]) -> Encoded:
        """Return the bytes that the serde writes for each item; ``None`` stays ``None``."""
        if not self._has_bytes_of(serde):
            self._encoded, self._serde = encode_all(serde, self.values()), serde
        self._is_input = False
        assert self._encoded is not None
        return self._encoded

    def _has_bytes_of(self, serde: Serde[Any]) -> bool:
        if self._encoded is None or not same_bytes(serde, self._serde):
            return False
        return not self._is_input or known(serde).keeps_bytes(self._encoded)

    def check(self) -> None:
        """Decode all items that the serde might refuse, so that a bad one is noticed now."""
        if self._serde is not None and not known(self._serde).takes_all:
            self.values()

    def has_nulls(self) -> bool:
        return None in self._known

    def are_known(self) -> list[bool]:
        if isinstance(self._known, RowColumns):
            return [True] * len(self._known)
        return [item is not None for item in self._known]

    def keep(self, mask: Sequence[Any]) -> BatchColumn:
        return BatchColumn(
            None if self._values is None else kept(self._values, mask),
            None if self._encoded is None else kept(self._encoded, mask),
            self._serde,
            is_input=self._is_input,
        )

    def take(self, places: Sequence[int]) -> BatchColumn:
        return BatchColumn(
            None if self._values is None else taken(self._values, places),
            None if self._encoded is None else taken(self._encoded, places),
            self._serde,
            is_input=self._is_input,
        )


def concatenated(columns: Sequence[BatchColumn]) -> BatchColumn:
    """Return one column with the items of all, as bytes if all have nothing else."""
    serdes = [column._serde for column in columns if len(column)]
    plain = [column for column in columns if len(column)]
    are_bytes = all(type(column) is BatchColumn and column._values is None for column in plain)
    if plain and are_bytes and all(serde == serdes[0] for serde in serdes):
        encoded = [item for column in plain for item in column._encoded or ()]
        is_input = any(column._is_input for column in plain)
        return BatchColumn(encoded=encoded, serde=serdes[0], is_input=is_input)
    return BatchColumn([item for column in plain for item in column.values()])


class DictionaryBatchColumn(BatchColumn):
    """A column of few different items that repeat; each of them is decoded or encoded once.

    ``codes`` has for each record the place of its item in ``different``, or -1 for null.
    """

    __slots__ = ("codes", "different")

    def __init__(self, codes: Places, different: BatchColumn) -> None:
        super().__init__()
        self.codes = codes
        self.different = different

    def __len__(self) -> int:
        return len(self.codes)

    def values(self) -> Sequence[Any]:
        if self._values is None:
            different = self.different.values()
            if isinstance(different, RowColumns) and not self.has_nulls():
                self._values = different.coded(self.codes)
                return self._values
            items = [*different, None]
            self._values = [items[code] for code in self.codes.tolist()]
        return self._values

    def encoded(self, serde: Serde[Any]) -> Encoded:
        if not known(serde).tells_apart:
            # The serde may write different items as the same bytes.
            return BatchColumn(self.values()).encoded(serde)
        # ``different`` has no null. It is not copied: pieces of a column are put together again by
        # comparing this very list.
        different = self.different.encoded(serde)
        if len(set(different)) < len(different):
            # Bytes that are not UTF-8 are decoded with replacement characters, so two of them may
            # have become the same text.
            return BatchColumn(self.values()).encoded(serde)
        return DictionaryBytes(self.codes, different)  # type: ignore[arg-type]

    def check(self) -> None:
        self.different.check()

    def has_nulls(self) -> bool:
        return bool((self.codes < 0).any())

    def are_known(self) -> list[bool]:
        known: list[bool] = (self.codes >= 0).tolist()
        return known

    def keep(self, mask: Sequence[Any]) -> BatchColumn:
        kept = np.fromiter(map(bool, mask), bool, len(mask))
        return DictionaryBatchColumn(self.codes[kept], self.different)

    def take(self, places: Sequence[int]) -> BatchColumn:
        return DictionaryBatchColumn(self.codes[np.array(places, np.int64)], self.different)


class TakenColumn(BatchColumn):
    """Some items of another column, in some order; they are taken when they are asked for."""

    __slots__ = ("_of", "_places")

    def __init__(self, of: BatchColumn, places: Places) -> None:
        super().__init__()
        self._of = of
        self._places = places

    def _made(self) -> BatchColumn:
        return self._of.take(self._places.tolist())

    def __len__(self) -> int:
        return len(self._places)

    def values(self) -> Sequence[Any]:
        return self._made().values()

    def encoded(self, serde: Serde[Any]) -> Encoded:
        return self._made().encoded(serde)

    def has_nulls(self) -> bool:
        return self._of.has_nulls() and self._made().has_nulls()

    def are_known(self) -> list[bool]:
        return self._made().are_known()

    def keep(self, mask: Sequence[Any]) -> BatchColumn:
        kept = np.fromiter(map(bool, mask), bool, len(mask))
        return TakenColumn(self._of, self._places[kept])

    def take(self, places: Sequence[int]) -> BatchColumn:
        return TakenColumn(self._of, self._places[np.array(places, np.int64)])


def input_column(data: Encoded, serde: Serde[Any]) -> BatchColumn:
    """Return a column of bytes that come from a topic or a store."""
    if isinstance(data, DictionaryBytes):
        if known(serde).tells_apart:
            return DictionaryBatchColumn(
                data.codes, BatchColumn(encoded=data.different, serde=serde)
            )
        if known(serde).reads_dictionaries:
            return BatchColumn(encoded=data, serde=serde)
    return BatchColumn(encoded=list(data), serde=serde)


class WindowedColumn(BatchColumn):
    """Windowed keys: the keys and the starts of their windows, put together when asked for."""

    __slots__ = ("base", "size_ms", "starts")

    def __init__(self, base: BatchColumn, starts: Sequence[int], size_ms: int) -> None:
        super().__init__()
        self.base = base
        self.starts = starts
        self.size_ms = size_ms

    def __len__(self) -> int:
        return len(self.starts)

    def values(self) -> Sequence[Any]:
        if self._values is None:
            windows = {
                start: Window(start, window_end(start, self.size_ms)) for start in set(self.starts)
            }
            pairs = zip(self.base.values(), self.starts, strict=True)
            self._values = [Windowed(key, windows[start]) for key, start in pairs]
        return self._values

    def encoded(self, serde: Serde[Any]) -> Encoded:
        """Return the bytes of the key followed by those of the window's start."""
        if isinstance(serde, TimeWindowedSerde) and serde.inner is not None:
            keys = self.base.encoded(serde.inner)
            if None not in keys:
                starts = np.array(self.starts, ">i8").view("V8").tolist()
                return [key + start for key, start in zip(keys, starts, strict=True)]
        return super().encoded(serde)

    def member(self, name: Any) -> Sequence[Any] | None:
        """Return a field of every windowed key without making the keys; ``None`` if unknown."""
        if name == "key":
            return self.base.values()
        if name == "start":
            return self.starts
        if name != "end":
            return None
        return [window_end(start, self.size_ms) for start in self.starts]

    def has_nulls(self) -> bool:
        return False

    def are_known(self) -> list[bool]:
        return [True] * len(self)

    def keep(self, mask: Sequence[Any]) -> BatchColumn:
        return WindowedColumn(self.base.keep(mask), [*compress(self.starts, mask)], self.size_ms)

    def take(self, places: Sequence[int]) -> BatchColumn:
        starts = [self.starts[n] for n in places]
        return WindowedColumn(self.base.take(places), starts, self.size_ms)
