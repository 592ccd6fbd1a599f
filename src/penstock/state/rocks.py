"""The ordered map on disk: RocksDB through rocksdict. In memory: ``penstock.state.memory``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from weakref import ref

from rocksdict import Rdict, ReadOptions, WriteBatch, WriteOptions

from penstock.errors import StoreError
from penstock.state.bytes_store import BytesStore, Entry, Write
from penstock.state.closed import cut_off
from penstock.state.rocks_config import RocksOptions, config_setter

#: What the engine does for keys that it reads together should fit into a processor's cache.
_READ_TOGETHER = 250

#: Opens the map of a store in a directory; ``open_rocks`` is one.
OpenEngine = Callable[[Path, str, Mapping[str, Any]], BytesStore]


def open_rocks(directory: Path, store: str, configs: Mapping[str, Any] | None = None) -> RocksStore:
    """Opens the database of a store in its directory, which is made if it is missing.

    Raises:
        StoreError: ``store-locked`` if somebody has it open, ``store-open-failed`` otherwise.
    """
    options, setter = RocksOptions(store), config_setter(configs or {})
    if setter is None:
        return RocksStore(_open(directory, store, options))
    setter.set_config(store, options, configs or {})
    release = getattr(setter, "close", None)
    return RocksStore(
        _open(directory, store, options),
        closed=None if release is None else lambda: release(store, options),
    )


def _open(directory: Path, store: str, options: RocksOptions) -> Rdict:
    built = options.build()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        database = Rdict(str(directory), built)
    # The engine has no error class of its own.
    except Exception as error:
        raise _cannot_open(directory, store, error) from error
    # The changelog is the log; a second one would only double the writes.
    unlogged = WriteOptions()
    unlogged.disable_wal = True  # type: ignore[method-assign,assignment]
    database.set_write_options(unlogged)
    return database


def _cannot_open(directory: Path, store: str, error: Exception) -> StoreError:
    text = str(error)
    if "lock hold by" in text or "While lock file" in text:
        return StoreError(
            "store-locked",
            f"store {store!r}: the database in {str(directory)!r} is open elsewhere ({text})",
            fix="stop the other process that has this state directory, close the store that"
            " is still open in this one, or give each its own 'state.dir'",
        )
    return StoreError(
        "store-open-failed",
        f"store {store!r}: the database in {str(directory)!r} cannot be opened ({text})",
        fix="check that the directory can be written; if its files are damaged, delete it:"
        " the store is restored from its changelog",
    )


def _cannot_write(directory: str, error: Exception) -> StoreError:
    text = str(error)
    if "No space left" in text:
        return StoreError(
            "disk-full",
            f"the disk of the state directory is full: {directory!r} cannot be written ({text})",
            fix="free some space or give 'state.dir' a larger disk, then start again:"
            " nothing that was committed is lost",
        )
    return StoreError(
        "store-write-failed",
        f"the database in {directory!r} cannot be written ({text})",
        fix="check the disk; if the files are damaged, delete the directory:"
        " the store is restored from its changelog",
    )


class RocksStore:
    """One RocksDB database. Scans see the moment they began; closing ends those still open.

    Reads and scans may come from any thread. What was written survives ``close`` and, after
    ``flush``, a crash: there is no write-ahead log.
    """

    def __init__(self, database: Rdict, closed: Callable[[], None] | None = None) -> None:
        self._database: Rdict | None = database
        self._directory = database.path()
        self._closed = closed
        self._scans: dict[int, ref[_Scan]] = {}
        self._set = database.__setitem__
        self._delete = database.__delitem__
        self._items = database.items
        self.get = database.get  # type: ignore[method-assign]

    def get(self, key: bytes) -> bytes | None:
        return self._open_database.get(key)

    @property
    def _open_database(self) -> Rdict:
        if self._database is None:
            raise cut_off()
        return self._database

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        get: Any = self._open_database.get
        found: list[bytes | None] = []
        for start in range(0, len(keys), _READ_TOGETHER):
            found += get(list(keys[start : start + _READ_TOGETHER]))
        return found

    def put(self, key: bytes, value: bytes | None) -> None:
        if value is None:
            self._delete(key)
        else:
            self._set(key, value)

    def write(self, writes: Iterable[Write]) -> None:
        batch = WriteBatch(raw_mode=True)
        put, delete = batch.__setitem__, batch.__delitem__
        for key, value in writes:
            if value is None:
                delete(key)
            else:
                put(key, value)
        database = self._open_database
        try:
            database.write(batch)
        # The engine has no error class of its own.
        except Exception as error:
            raise _cannot_write(self._directory, error) from error

    def delete_range(self, start: bytes, end: bytes) -> None:
        # The engine refuses a range whose end comes first.
        if start < end:
            self._open_database.delete_range(start, end)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        if end is not None and end <= (start or b""):
            return iter(())
        bounds = None
        if end is not None:
            bounds = ReadOptions()
            bounds.set_iterate_upper_bound(end)
        if not reverse:
            items = self._items(from_key=start, read_opt=bounds)
        else:
            items = self._items(backwards=True, read_opt=bounds)
        scan = _Scan(items, start if reverse else None, end)
        scans, number = self._scans, id(scan)
        scans[number] = ref(scan, lambda _: scans.pop(number, None))
        return scan

    def approximate_num_entries(self) -> int:
        return self._open_database.property_int_value("rocksdb.estimate-num-keys") or 0

    def flush(self) -> None:
        database = self._open_database
        try:
            database.flush()
        except Exception as error:
            raise _cannot_write(self._directory, error) from error

    def close(self) -> None:
        database, self._database = self._database, None
        if database is None:
            return
        # An iterator that is alive keeps the files open and the directory locked.
        for scan_ref in list(self._scans.values()):
            scan = scan_ref()
            if scan is not None:
                scan.cut_off()
        try:
            database.close()
        except Exception as error:
            raise _cannot_write(self._directory, error) from error
        finally:
            # A database that could not be closed is let go with the last reference to it.
            del self._set, self._delete, self._items, self.get
            if self._closed is not None:
                self._closed()


class _Scan:
    """An iterator of the engine that can be taken away from whoever holds it."""

    __slots__ = ("__weakref__", "_end", "_lowest", "_next")

    def __init__(self, items: Iterator[Any], lowest: bytes | None, end: bytes | None) -> None:
        self._next: Callable[[], Entry] = items.__next__
        # rocksdict 0.3.29 takes set_iterate_lower_bound for an upper bound, so a backward
        # scan looks for its end by itself.
        self._lowest = lowest
        # The engine reads its upper bound out of this very object and does not keep it alive:
        # without this reference a scan ends at whatever takes the bytes' place in memory.
        self._end = end

    def __iter__(self) -> _Scan:
        return self

    def __next__(self) -> Entry:
        entry = self._next()
        if self._lowest is not None and entry[0] < self._lowest:
            self.close()
            raise StopIteration
        return entry

    def close(self) -> None:
        self._next = _nothing

    def cut_off(self) -> None:
        self._next = _refuse


def _nothing() -> Entry:
    raise StopIteration


def _refuse() -> Entry:
    raise cut_off()
