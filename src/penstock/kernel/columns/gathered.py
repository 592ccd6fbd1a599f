"""What a fold keeps of a batch's pieces until the batch ends: keys, timestamps and items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from penstock.kernel.columns.batch import Origins, origins_of
from penstock.kernel.columns.batch_column import Times
from penstock.kernel.columns.folds.column_folds import Items
from penstock.model.columns.dictionary_bytes import joined_columns
from penstock.model.record import Headers


class Gathered:
    """The columns of the records so far, without values that are not folded."""

    def __init__(self) -> None:
        self._keys: list[Sequence[bytes | None]] = []
        self.key_values: list[object] = []
        self.items: list[list[object]] = []
        self._timestamps: list[Times] = []
        self._starts: list[Times] = []
        self._headers: list[Sequence[Headers] | None] = []
        self._origins: list[Origins] = []

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def add(
        self,
        keys: Sequence[bytes | None],
        items: Items,
        timestamps: Times,
        headers: Sequence[Headers] | None,
        starts: Times | None = None,
        key_values: Sequence[object] = (),
        origins: Origins | None = None,
    ) -> None:
        """Add the records of a piece. None of the keys is ``None``.

        ``key_values`` are needed only if changes are forwarded with them. They are not decoded from
        the bytes, because a serde may accept values of types that it does not return.
        """
        self.key_values += key_values
        self._keys.append(keys)
        if not self.items:
            self.items = [[] for _ in items]
        for column, more in zip(self.items, items, strict=True):
            column += more
        self._timestamps.append(timestamps)
        self._headers.append(headers)
        if starts is not None:
            self._starts.append(starts)
        if origins is not None:
            self._origins.append(origins)

    @property
    def keys(self) -> Sequence[bytes | None]:
        return joined_columns(self._keys)

    @property
    def timestamps(self) -> Times:
        return np.concatenate(self._timestamps)

    @property
    def starts(self) -> Times:
        """Return the start of each record's window."""
        return np.concatenate(self._starts)

    @property
    def origins(self) -> Origins | None:
        """Return where the records come from; ``None`` if that is not known of all."""
        if len(self._origins) < max(len(self._keys), 1):
            return None
        offsets = np.concatenate([each.offsets for each in self._origins])
        known = [each.stream_times for each in self._origins if each.stream_times is not None]
        times = np.concatenate(known) if len(known) == len(self._origins) else None
        if len({(each.topic, each.partition) for each in self._origins}) == 1 and all(
            each.sources is None for each in self._origins
        ):
            return Origins(self._origins[0].topic, self._origins[0].partition, offsets, None, times)
        sources = [source for each in self._origins for source in each.each_source()]
        return replace(origins_of(sources, offsets), stream_times=times)

    @property
    def headers(self) -> list[Headers] | None:
        if all(headers is None for headers in self._headers):
            return None
        pieces = zip(self._timestamps, self._headers, strict=True)
        return [
            each
            for times, headers in pieces
            for each in ([()] * len(times) if headers is None else headers)
        ]
