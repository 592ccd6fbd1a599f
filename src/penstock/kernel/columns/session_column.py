"""The keys of sessions as a column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from penstock.kernel.columns.batch_column import BatchColumn
from penstock.model.windows.windowed import Window, Windowed
from penstock.serde.base import Serde
from penstock.serde.column_serde import Encoded
from penstock.serde.windowed import SessionWindowedSerde
from penstock.state.window.window_keys import session_keys


class SessionColumn(BatchColumn):
    """Keys, and the starts and ends of their sessions, put together when they are asked for."""

    __slots__ = ("base", "ends", "starts")

    def __init__(self, base: BatchColumn, starts: Sequence[int], ends: Sequence[int]) -> None:
        super().__init__()
        self.base = base
        self.starts = starts
        self.ends = ends

    def __len__(self) -> int:
        return len(self.starts)

    def values(self) -> Sequence[Any]:
        if self._values is None:
            windows = map(Window, self.starts, self.ends)
            self._values = [*map(Windowed, self.base.values(), windows)]
        return self._values

    def encoded(self, serde: Serde[Any]) -> Encoded:
        """Return the bytes of the key followed by those of the session's end and start."""
        if isinstance(serde, SessionWindowedSerde) and serde.inner is not None:
            keys = self.base.encoded(serde.inner)
            if None not in keys:
                return session_keys(keys, self.starts, self.ends)  # type: ignore[arg-type]
        return super().encoded(serde)

    def member(self, name: Any) -> Sequence[Any] | None:
        """Return a field of every windowed key without making the keys; ``None`` if unknown."""
        if name == "key":
            return self.base.values()
        if name == "start":
            return self.starts
        return self.ends if name == "end" else None

    def has_nulls(self) -> bool:
        return False

    def are_known(self) -> list[bool]:
        return [True] * len(self)

    def keep(self, mask: Sequence[Any]) -> BatchColumn:
        return SessionColumn(
            self.base.keep(mask), [*compress(self.starts, mask)], [*compress(self.ends, mask)]
        )

    def take(self, places: Sequence[int]) -> BatchColumn:
        starts = [self.starts[n] for n in places]
        return SessionColumn(self.base.take(places), starts, [self.ends[n] for n in places])
