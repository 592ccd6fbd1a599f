"""The ordered map on disk: RocksDB through rocksdict. In memory: ``memory``."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from weakref import ref

from rocksdict import (
    DbClosedError,
    Options,
    Rdict,
    RdictIter,
    ReadOptions,
    WriteBatch,
    WriteOptions,
)

from penstock.config import METRICS_RECORDING_LEVEL
from penstock.errors import StoreError
from penstock.state.bytes_store import BytesStore, Entry, KeyRange, Write
from penstock.state.engine.closed import cut_off
from penstock.state.engine.damaged import (
    disk_full,
    has_lost_its_root,
    is_damage,
    is_disk_full,
    store_damaged,
)
from penstock.state.engine.rocks_config import RocksOptions, config_setter
from penstock.state.engine.rocks_statistics import statistics_in

#: Keys are read in groups of this size, so that the work fits into a processor's cache.
_READ_TOGETHER = 250
#: How long ``close`` waits for a thread that is reading a row of a scan.
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
    """Open the database of a store in its folder, which is created if it is missing.

    With ``is_logged``, every write is in RocksDB's write-ahead log when it returns, so it survives
    ``kill -9``. The log is not synced: a power cut loses the last seconds, but the rest is
    consistent. A store that is rebuilt at every start needs no log; then a put takes half the time.

    Raises:
        StoreError: ``store-locked`` if another process has it open, ``store-damaged`` if its files
            are damaged (see ``set_aside``), ``store-open-failed`` otherwise.
    """
    given = configs or {}
    options, setter, release = RocksOptions(store), config_setter(given), None
    if setter is not None:
        setter.set_config(store, options, given)
        release = getattr(setter, "close", None)
    built = options.build()
    is_counted = METRICS_RECORDING_LEVEL.value_in(given) != "INFO"
    if is_counted:
        built.enable_statistics()
    return RocksStore(
        _open(directory, store, built, is_logged=is_logged),
        store,
        closed=None if release is None else lambda: release(store, options),
        statistics=built.get_statistics if is_counted else None,
    )


def _open(directory: Path, store: str, built: Options, *, is_logged: bool) -> Rdict:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_opened(directory, store, error) from error
    if has_lost_its_root(directory):
        raise store_damaged(directory, store, "the file 'CURRENT' is missing")
    try:
        database = Rdict(str(directory), built)
    # rocksdict has no error class of its own.
    except Exception as error:
        raise _cannot_open(directory, store, error) from error
    # The same for all writes of a database: after a crash, a logged write would survive without an
    # earlier write that was not logged.
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
    if is_disk_full(error):
        return disk_full(directory, error)
    return StoreError(
        "store-open-failed",
        f"store {store!r}: the database in {str(directory)!r} cannot be opened ({error})",
        fix="check that the directory can be written; if its files are damaged, delete it:"
        " the store is restored from its changelog",
    )


def _cannot_read(directory: str, store: str, error: Exception) -> Exception:
    """Return the error for a failed read; an error of the caller stays as it is."""
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
    if is_disk_full(error):
        return disk_full(directory, error)
    # If a compaction in the background finds damage, the next write fails.
    if is_damage(error):
        return store_damaged(directory, store, error)
    return StoreError(
        "store-write-failed",
        f"store {store!r}: the database in {directory!r} cannot be written ({error})",
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
    """One RocksDB database. A scan shows the rows of its start; ``close`` ends open scans.

    All threads may read and scan. A read or scan returns what was written or raises
    ``store-damaged``; it never ends early. Writes survive the end of the process (except as
    ``open_rocks`` says) and, after ``flush``, a power cut.
    """

    def __init__(
        self,
        database: Rdict,
        store: str,
        closed: Callable[[], None] | None = None,
        statistics: Callable[[], str | None] | None = None,
    ) -> None:
        self._database: Rdict | None = database
        self._store = store
        self._directory = database.path()
        self._closed = closed
        self._statistics = statistics
        self._scans: dict[int, ref[_Rows]] = {}
        self._set = database.__setitem__
        self._delete = database.__delitem__
        self.get = self._reader(database)  # type: ignore[method-assign,assignment]

    def _reader(self, database: Rdict) -> Callable[[bytes], bytes | None]:
        """Return a ``get`` without attribute lookups: reads are the hot path."""
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
            # RocksDB refuses a range whose end is before its start.
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
        # rocksdict has no error class of its own.
        except Exception as error:
            raise self._write_error(error) from error

    def delete_range(self, start: bytes, end: bytes) -> None:
        database = self._open_database
        # RocksDB refuses a range whose end is before its start.
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
        # Run up to the first yield, so that ``close`` can end the scan before a row is read.
        next(rows)
        scans, number = self._scans, id(rows)
        scans[number] = ref(rows, lambda _: scans.pop(number, None))
        return rows

    def approximate_num_entries(self) -> int:
        return self._open_database.property_int_value("rocksdb.estimate-num-keys") or 0

    def properties(self) -> dict[str, float]:
        """Return RocksDB's own figures, under the names that Kafka Streams gives its metrics.

        Counters, such as hits and misses, are among them from ``metrics.recording.level=DEBUG`` on.
        """
        database = self._open_database
        found = {name: database.property_int_value(f"rocksdb.{name}") for name in PROPERTIES}
        shown: dict[str, float] = {k: value for k, value in found.items() if value is not None}
        if self._statistics is not None:
            shown |= statistics_in(self._statistics() or "")
        return shown

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
        # An open iterator keeps the files open and the folder locked.
        for scan_ref in list(self._scans.values()):
            scan = scan_ref()
            if scan is not None:
                _take_back(scan)
        try:
            database.close()
        except Exception as error:
            raise self._write_error(error) from error
        finally:
            # A database that cannot be closed is released with the last reference to it.
            del self._set, self._delete, self.get
            if self._closed is not None:
                self._closed()


class _TakenBackError(Exception):
    """Is thrown into the generator of a scan when the store is closed."""


def _rows(
    cursor: RdictIter,
    lowest: bytes | None,
    end: bytes | None,
    failed: Callable[[Exception], Exception],
    *,
    is_reverse: bool,
) -> _Rows:
    """Yield the rows from the cursor's position on; the first item is not a row.

    A cursor that meets damage looks like one at its end, so its status is checked. ``items()`` of
    rocksdict does not show the status, and is not faster.

    ``end`` is not used here, but it must live as long as the cursor: RocksDB reads its upper bound
    from the memory of this object.
    """
    try:
        yield b"", b""
        read_key, read_value = cursor.key, cursor.value
        step = cursor.prev if is_reverse else cursor.next
        # rocksdict 0.3.29 uses set_iterate_lower_bound as an upper bound, so a backward scan checks
        # for its end itself.
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
        # An open cursor keeps the files open and the folder locked.
        del cursor
        read_key = read_value = step = _no_cursor
        yield b"", b""
        raise cut_off() from None
    except Exception as error:
        raise failed(error) from error


def _no_cursor() -> None:
    return None


def _take_back(rows: _Rows) -> None:
    """End a scan, so that it releases its cursor. Reading on is an error."""
    deadline = monotonic() + _TAKE_BACK_S
    while True:
        try:
            rows.throw(_TakenBackError())
        except _TakenBackError:
            # The scan was at its end already.
            return
        except ValueError:
            # Another thread is reading a row right now.
            if monotonic() > deadline:
                return
            sleep(0.001)
        else:
            return
