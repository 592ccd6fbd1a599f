"""Stores that fetch a row from the application when it is first asked for, and note each access."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

from penstock.model.versioned import ValueAndTimestamp
from penstock.model.windows.windowed import Window, Windowed
from penstock.runtime.local.journey.node_trace import NodeTrace
from penstock.runtime.local.journey.snapshot import pairs, snapshot
from penstock.serde.base import Serde
from penstock.serving.application import Row
from penstock.serving.journey.values import Access, Rows, State
from penstock.state.spec import StoreKind

if TYPE_CHECKING:
    # Only the extra server brings it.
    from msgspec import Raw

#: The serdes of keys and of values, for the names of columns.
Serdes = tuple[Serde[Any] | None, Serde[Any] | None]

#: How many rows of one read are noted.
_MOST_NOTED = 10
_WINDOW = (StoreKind.WINDOW, StoreKind.TIMESTAMPED_WINDOW)
_KNOWN = frozenset(StoreKind) - {
    StoreKind.OUTER_JOIN, StoreKind.TIME_ORDERED_BUFFER, StoreKind.FOREIGN_KEY_SUBSCRIPTION,
}  # fmt: skip
#: Reads of one key, which is the first argument.
_OF_KEY = frozenset(
    {
        "get", "fetch", "backward_fetch", "fetch_session", "find_sessions",
        "backward_find_sessions", "find_sessions_ending",
    }
)  # fmt: skip
#: Reads of many keys.
_OF_MANY = frozenset(
    {
        "all", "range", "reverse_all", "reverse_range", "prefix_scan", "backward_all", "fetch_all",
        "backward_fetch_all", "fetch_range", "backward_fetch_range", "find_sessions_range",
        "backward_find_sessions_range", "versions",
    }
)  # fmt: skip
#: Everything that is noted.
NOTED = _OF_KEY | _OF_MANY | {
    "read", "write", "put", "put_if_absent", "put_all", "delete", "remove",
}  # fmt: skip


class WatchedStore:
    """One store. Everything but reads and writes of rows goes to the inner one.

    Without a ``state`` the inner store is the application's own, so that nothing is fetched.
    """

    def __init__(
        self,
        inner: Any,
        trace: NodeTrace,
        state: State | None,
        notes: dict[str, None],
        serdes: Serdes,
    ) -> None:
        self._of_keys, self._of_values = serdes
        self._inner, self._trace, self._state, self._notes = inner, trace, state, notes
        self._kind: StoreKind = inner.kind
        #: By key, as text: whether what the application has is here.
        self._filled: dict[str, bool] = {}
        #: By serialized place: what was read last, for the write that follows.
        self._read: dict[bytes, tuple[Any, Raw]] = {}
        self._is_whole = False
        if state is not None and self._kind not in _KNOWN:
            self._note(
                f"What waits in {inner.name!r} cannot be read: it was empty here, so records that"
                " would have been joined or released are missing."
            )

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in _OF_KEY:
            return self._reading(name, found)
        if name in _OF_MANY:
            return self._scanning(name, found)
        return found

    # Reads

    def _reading(self, name: str, read: Any) -> Any:
        def call(key: Any, *args: Any, **given: Any) -> Any:
            is_known = self._fill(key)
            result = read(key, *args, **given)
            if hasattr(result, "__next__"):
                # It is read by the node; another one is read for the note.
                with read(key, *args, **given) as again:
                    noted = self._entries(islice(again, _MOST_NOTED))
            else:
                noted = self._value(result)
            self._access(name, self._key(key), noted, is_known=is_known)
            return result

        return call

    def _scanning(self, name: str, read: Any) -> Any:
        def call(*args: Any, **given: Any) -> Any:
            self._fill_some()
            result = read(*args, **given)
            self._access(name, snapshot(None), snapshot("several rows"), is_known=self._is_whole)
            return result

        return call

    def read(self, key: Any, *place: int) -> tuple[bytes, Any]:
        """Return the serialized place of a row, and the row, for a ``write`` that follows."""
        is_known = self._fill(key)
        raw, row = self._inner.read(key, *place)
        # The node may change what it has read before it writes it.
        shown = self._value(row)
        self._read[raw] = key, shown
        self._access("read", self._key(key), shown, None, *place, is_known=is_known)
        return raw, row

    # Writes

    def write(self, raw: bytes, value: Any, *place: int) -> None:
        key, before = self._read.get(raw, (None, snapshot(None)))
        self._inner.write(raw, value, *place)
        self._wrote("write", key, value, before, place, is_known=self._fill(key))

    def put(self, key: Any, value: Any, *place: Any) -> Any:
        inner_key = key.key if isinstance(key, Windowed) else key
        is_known = self._fill(inner_key)
        before = self._value(self._row(key, place))
        result = self._inner.put(key, value, *place)
        self._wrote("put", key, value, before, place, is_known=is_known)
        return result

    def put_if_absent(self, key: Any, value: Any) -> Any:
        is_known = self._fill(key)
        before = self._inner.put_if_absent(key, value)
        now = value if before is None else before
        self._wrote("put_if_absent", key, now, self._value(before), (), is_known=is_known)
        return before

    def put_all(self, entries: Any) -> None:
        for key, value in entries:
            self.put(key, value)

    def delete(self, key: Any, *place: Any) -> Any:
        is_known = self._fill(key)
        before = self._inner.delete(key, *place)
        self._wrote("delete", key, None, self._value(before), (), is_known=is_known)
        return before

    def remove(self, session: Windowed[Any]) -> None:
        is_known = self._fill(session.key)
        before = self._value(self._row(session, ()))
        self._inner.remove(session)
        self._wrote("remove", session, None, before, (), is_known=is_known)

    # Python looks operators up on the class, so ``__getattr__`` does not see them.

    def __getitem__(self, key: Any) -> Any:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        if self.delete(key) is None:
            raise KeyError(key)

    def __contains__(self, key: Any) -> bool:
        return self.get(key) is not None

    def __iter__(self) -> Any:
        self._fill_some()
        return iter(self._inner)

    # Inside

    def _key(self, key: Any) -> Raw:
        return snapshot(key, self._of_keys)

    def _value(self, value: Any) -> Raw:
        return snapshot(value, self._of_values)

    def _entries(self, entries: Iterable[tuple[Any, Any]]) -> Raw:
        """Return pairs of a key, or of the start of a window, and a value."""
        return pairs((self._key(key), self._value(value)) for key, value in entries)

    def _row(self, key: Any, place: tuple[Any, ...]) -> Any:
        """Return what a row holds before it is written."""
        if self._kind in _WINDOW and place:
            return self._inner.fetch(key, place[0])
        if self._kind is StoreKind.SESSION:
            window = key.window
            return self._inner.fetch_session(key.key, window.start, window.end)
        if self._kind in _KNOWN:
            return self._inner.get(key)
        return None

    def _wrote(
        self,
        operation: str,
        key: Any,
        value: Any,
        before: Raw,
        place: tuple[Any, ...],
        *,
        is_known: bool,
    ) -> None:
        windowed = isinstance(key, Windowed)
        start = key.window.start if windowed else place[0] if self._kind in _WINDOW else None
        plain = key.key if windowed else key
        self._access(
            operation, self._key(plain), self._value(value), before, start, is_known=is_known
        )

    def _access(
        self,
        operation: str,
        key: Raw,
        value: Raw,
        before: Raw | None = None,
        window_start: int | None = None,
        *,
        is_known: bool,
    ) -> None:
        self._trace.access(
            Access(
                store=self._inner.name,
                operation=operation,
                key=key,
                value=value,
                before=before,
                window_start=window_start,
                is_known=is_known,
            )
        )

    def _fill(self, key: Any) -> bool:
        """Fetch the rows of a key, if they are not here; return whether they are known."""
        if self._state is None:
            return True
        name = bytes(snapshot(key)).decode()
        if name not in self._filled:
            if self._kind not in _KNOWN:
                self._filled[name] = False
            else:
                found = self._state.of_key(self._inner.name, key)
                self._filled[name] = self._take(found, f"of key {name[:80]} ")
        return self._filled[name]

    def _fill_some(self) -> None:
        if self._state is None:
            self._is_whole = True
        elif not self._is_whole and self._kind in _KNOWN:
            found = self._state.some(self._inner.name)
            self._is_whole = self._take(found, "") and not found.has_more
            if found.has_more:
                self._note(
                    f"A node read all of {self._inner.name!r}: only the first"
                    f" {len(found.rows)} rows were here."
                )

    def _take(self, found: Rows, what: str) -> bool:
        for row in found.rows:
            self._put_row(row)
        if found.why:
            self._note(f"What {self._inner.name!r} held {what}is not known: {found.why}.")
        return not found.why

    def _put_row(self, row: Row) -> None:
        """Write a row of the application, below the watch."""
        inner, value = self._inner, row.value
        match self._kind:
            case StoreKind.TIMESTAMPED_KEY_VALUE:
                inner.put(row.key, ValueAndTimestamp(value, row.timestamp or 0))
            case StoreKind.WINDOW:
                inner.put(row.key, value, row.window_start)
            case StoreKind.TIMESTAMPED_WINDOW:
                stamped = ValueAndTimestamp(value, row.timestamp or 0)
                inner.put(row.key, stamped, row.window_start)
            case StoreKind.SESSION:
                assert row.window_start is not None
                assert row.window_end is not None
                inner.put(Windowed(row.key, Window(row.window_start, row.window_end)), value)
            case StoreKind.VERSIONED_KEY_VALUE:
                inner.put(row.key, value, row.timestamp or 0)
            case _:
                inner.put(row.key, value)

    def _note(self, sentence: str) -> None:
        self._notes[sentence] = None
