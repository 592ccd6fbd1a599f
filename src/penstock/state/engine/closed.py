"""Replaces the bytes of a store when the store is closed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from penstock.errors import InvalidStateError
from penstock.state.bytes_store import Entry, KeyRange, Write


def cut_off() -> InvalidStateError:
    """Return the error of an iterator that is used after its store is closed."""
    return InvalidStateError(
        "store-closed",
        "a store was closed while an iterator over it was in use",
        fix="read the iterator to its end, or close it, before the store is closed",
    )


class ClosedStore:
    """Refuses every call. A closed store uses it, so that open stores need no check."""

    def __init__(self, name: str) -> None:
        self._name = name

    def get(self, key: bytes) -> bytes | None:
        self._refuse()

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._refuse()

    def put(self, key: bytes, value: bytes | None) -> None:
        self._refuse()

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        self._refuse()

    def delete_range(self, start: bytes, end: bytes) -> None:
        self._refuse()

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        self._refuse()

    def approximate_num_entries(self) -> int:
        self._refuse()

    def flush(self) -> None:
        self._refuse()

    def close(self) -> None:
        return None

    def _refuse(self) -> NoReturn:
        raise InvalidStateError(
            "store-closed",
            f"store {self._name!r} is closed",
            fix="after a restart, get the store from the context again",
        )
