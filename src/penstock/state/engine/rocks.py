"""The ordered map on disk: RocksDB through rocksdict. In memory: ``memory``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import ref

from rocksdict import DbClosedError, Rdict, RdictIter, ReadOptions, WriteBatch, WriteOptions

from penstock.errors import StoreError
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.engine.closed import cut_off
from penstock.state.engine.damaged import has_lost_its_root, is_damage, store_damaged
from penstock.state.engine.rocks_config import RocksOptions, config_setter

#: What the engine does for keys that it reads together should fit into a processor's cache.
_READ_TOGETHER = 250
#: How long closing waits for a thread that is reading a row of a scan.
_TAKE_BACK_S = 1.0

#: Opens the map of a store in a directory; ``open_rocks`` is one.
OpenEngine = Callable[[Path, str, Mapping[str, Any]], BytesStore]
_Rows = Generator[Entry, None, None]


def open_rocks(
    directory: Path,
    store: str,
    configs: Mapping[str, Any] | None = None,
    *,
    is_logged: bool = True,
) -> RocksStore:
    """Open the database of a store in its directory, which is made if it is missing.

    With ``is_logged`` every write is in RocksDB's write-ahead log when it returns, so it survives
    ``kill -9``. It is not synced: a power cut loses the last seconds, and what is left is still
    one moment. A store that is built anew at every start can do without: single puts take half
    as long.

    Raises:
        StoreError: ``store-locked`` if another owner has it open, ``store-damaged`` if its files
            are damaged (``set_aside`` makes room for a new one), ``store-open-failed`` otherwise.
    """
    options, setter = RocksOptions(store), config_setter(configs or {})
    if setter is None:
        return RocksStore(_open(directory, store, options, is_logged=is_logged), store)
    setter.set_config(store, options, configs or {})
    release = getattr(setter, "close", None)
    return RocksStore(
        _open(directory, store, options, is_logged=is_logged),
        store,
        closed=None if release is None else lambda: release(store, options),
    )


def _open(directory: Path, store: str, options: RocksOptions, *, is_logged: bool) -> Rdict:
    built = options.build()
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_opened(directory, store, error) from error
    if has_lost_its_root(directory):
        raise store_damaged(directory, store, "the file 'CURRENT' is missing")
    try:
        database = Rdict(str(directory), built)
    # The engine has no error class of its own.
    except Exception as error:
        raise _cannot_open(directory, store, error) from error
    # One rule for all writes of a database: a logged write after one that was not would survive
    # a crash without it.
    how = WriteOptions()
    how.disable_wal = not is_logged  # type: ignore[method-assign,assignment]
    database.set_write_options(how)
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
    if is_damage(error):
        return store_damaged(directory, store, error)
    return _not_opened(directory, store, error)


def _not_opened(directory: Path, store: str, error: Exception) -> StoreError:
    return StoreError(
        "store-open-failed",
        f"store {store!r}: the database in {str(directory)!r} cannot be opened ({error})",
        fix="check that the directory can be written; if its files are damaged, delete it:"
        " the store is restored from its changelog",
    )


def _cannot_read(directory: str, store: str, error: Exception) -> Exception:
    """Return what a failed read raises: the error itself where the engine is not to blame."""
    if isinstance(error, DbClosedError):
        return cut_off()
    if is_damage(error):
        return store_damaged(directory, store, error)
    if "IO error" not in str(error):
        return error
    return StoreError(
        "store-read-failed",
        f"store {store!r}: the database in {directory!r} cannot be read ({error})",
        fix="check the disk; if the files are damaged, delete the directory:"
        " the store is restored from its changelog",
    )


def _cannot_write(directory: str, store: str, error: Exception) -> StoreError:
    text = str(error)
    if "No space left" in text:
        return StoreError(
            "disk-full",
            f"the disk of the state directory is full: {directory!r} cannot be written ({text})",
            fix="free some space or give 'state.dir' a larger disk, then start again:"
            " nothing that was committed is lost",
        )
    # A compaction in the background that finds damage makes the next write fail.
    if is_damage(error):
        return store_damaged(directory, store, error)
    return StoreError(
        "store-write-failed",
        f"store {store!r}: the database in {directory!r} cannot be written ({text})",
        fix="check the disk; if the files are damaged, delete the directory:"
        " the store is restored from its changelog",
    )


#: What Kafka Streams reports of each database; RocksDB has them under ``rocksdb.``.
PROPERTIES = (
    "num-immutable-mem-table", "cur-size-active-mem-table", "cur-size-all-mem-tables",
    "size-all-mem-tables", "num-entries-active-mem-table", "num-entries-imm-mem-tables",
    "num-deletes-active-mem-table", "num-deletes-imm-mem-tables", "mem-table-flush-pending",
    "num-running-flushes", "compaction-pending", "num-running-compactions",
    "estimate-pending-compaction-bytes", "total-sst-files-size", "live-sst-files-size",
    "num-live-versions", "block-cache-capacity", "block-cache-usage", "block-cache-pinned-usage",
    "estimate-num-keys", "estimate-table-readers-mem", "background-errors",
)  # fmt: skip


class RocksStore:
    """One RocksDB database. Scans see the moment they began; closing ends those still open.

    Reads and scans may come from any thread. A read or scan either returns what was written or
    raises ``store-damaged``; it never ends early. What was written survives the end of the process
    (``open_rocks`` says when not) and, after ``flush``, the end of the machine.
    """

    def __init__(
        self, database: Rdict, store: str, closed: Callable[[], None] | None = None
    ) -> None:
        self._database: Rdict | None = database
        self._store = store
        self._directory = database.path()
        self._closed = closed
        self._scans: dict[int, ref[_Rows]] = {}
        self._set = database.__setitem__
        self._delete = database.__delitem__
        self.get = self._reader(database)  # type: ignore[method-assign,assignment]

    def _reader(self, database: Rdict) -> Callable[[bytes], bytes | None]:
        """Return ``get`` without the look-ups of a method: reads are the hot path."""
        read: Any = database.get

        def get(key: bytes) -> bytes | None:
            try:
                return read(key)  # type: ignore[no-any-return]
            except Exception as error:
                raise self._read_error(error) from error

        return get

    def get(self, key: bytes) -> bytes | None:
        return self._reader(self._open_database)(key)

    def _read_error(self, error: Exception) -> Exception:
        return _cannot_read(self._directory, self._store, error)

    def _write_error(self, error: Exception) -> StoreError:
        return _cannot_write(self._directory, self._store, error)

    @property
    def _open_database(self) -> Rdict:
        if self._database is None:
            raise cut_off()
        return self._database

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        get: Any = self._open_database.get
        found: list[bytes | None] = []
        try:
            for start in range(0, len(keys), _READ_TOGETHER):
                found += get(list(keys[start : start + _READ_TOGETHER]))
        except Exception as error:
            raise self._read_error(error) from error
        return found

    def put(self, key: bytes, value: bytes | None) -> None:
        try:
            if value is None:
                self._delete(key)
            else:
                self._set(key, value)
        except Exception as error:
            raise self._write_error(error) from error

    def write(self, writes: Iterable[Write], *, deleted: Sequence[KeyRange] = ()) -> None:
        batch = WriteBatch(raw_mode=True)
        for start, end in deleted:
            # The engine refuses a range whose end comes first.
            if start < end:
                batch.delete_range(start, end)
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
            raise self._write_error(error) from error

    def delete_range(self, start: bytes, end: bytes) -> None:
        database = self._open_database
        # The engine refuses a range whose end comes first.
        if start < end:
            try:
                database.delete_range(start, end)
            except Exception as error:
                raise self._write_error(error) from error

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Entry]:
        if end is not None and end <= (start or b""):
            return iter(())
        bounds = ReadOptions()
        if end is not None:
            bounds.set_iterate_upper_bound(end)
        cursor = self._open_database.iter(bounds)
        if reverse:
            cursor.seek_to_last()
        elif start is None:
            cursor.seek_to_first()
        else:
            cursor.seek(start)
        lowest = start if reverse else None
        rows = _rows(cursor, lowest, end, self._read_error, is_reverse=reverse)
        # Up to its first yield, so that the store can take it back before a row is read.
        next(rows)
        scans, number = self._scans, id(rows)
        scans[number] = ref(rows, lambda _: scans.pop(number, None))
        return rows

    def approximate_num_entries(self) -> int:
        return self._open_database.property_int_value("rocksdb.estimate-num-keys") or 0

    def properties(self) -> dict[str, int]:
        """Return RocksDB's own figures, under the names that Kafka Streams gives its metrics."""
        database = self._open_database
        found = {name: database.property_int_value(f"rocksdb.{name}") for name in PROPERTIES}
        return {name: value for name, value in found.items() if value is not None}

    def flush(self) -> None:
        database = self._open_database
        try:
            database.flush()
        except Exception as error:
            raise self._write_error(error) from error

    def close(self) -> None:
        database, self._database = self._database, None
        if database is None:
            return
        # An iterator that is alive keeps the files open and the directory locked.
        for scan_ref in list(self._scans.values()):
            scan = scan_ref()
            if scan is not None:
                _take_back(scan)
        try:
            database.close()
        except Exception as error:
            raise self._write_error(error) from error
        finally:
            # A database that could not be closed is let go with the last reference to it.
            del self._set, self._delete, self.get
            if self._closed is not None:
                self._closed()


class _TakenBackError(Exception):
    """Thrown into the rows of a scan whose store is closed."""


def _rows(
    cursor: RdictIter,
    lowest: bytes | None,
    end: bytes | None,
    failed: Callable[[Exception], Exception],
    *,
    is_reverse: bool,
) -> _Rows:
    """Yield the rows from the cursor's position on; the first item is not a row.

    A cursor that meets damage looks exactly like one at its end, so its status decides. The
    engine's own ``items()`` does not show its status, and is not faster from Python.

    ``end`` is not used here, but it must live as long as the cursor: the engine reads its upper
    bound out of this very object, and would end a scan at whatever takes its place in memory.
    """
    try:
        yield b"", b""
        read_key, read_value = cursor.key, cursor.value
        step = cursor.prev if is_reverse else cursor.next
        # rocksdict 0.3.29 takes set_iterate_lower_bound for an upper bound, so a backward
        # scan looks for its end by itself.
        if lowest is not None:
            while (key := read_key()) is not None and key >= lowest:
                yield key, read_value()
                step()
        else:
            while (key := read_key()) is not None:
                yield key, read_value()
                step()
        cursor.status()
    except _TakenBackError:
        # A cursor that is alive keeps the files open and the directory locked.
        del cursor
        read_key = read_value = step = _no_cursor
        yield b"", b""
        raise cut_off() from None
    except Exception as error:
        raise failed(error) from error


def _no_cursor() -> None:
    return None


def _take_back(rows: _Rows) -> None:
    """Make the rows let go of their cursor; the caller that reads on gets an error."""
    deadline = monotonic() + _TAKE_BACK_S
    while True:
        try:
            rows.throw(_TakenBackError())
        except _TakenBackError:
            # The rows had come to their end.
            return
        except ValueError:
            # Another thread is reading a row at this moment.
            if monotonic() > deadline:
                return
            sleep(0.001)
        else:
            return
