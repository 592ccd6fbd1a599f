"""RocksDB: files, locks, options and what survives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest
from rocksdict import Cache

from penstock.errors import ConfigError, InvalidStateError, StoreError
from penstock.state.engine import rocks as engine
from penstock.state.engine.rocks import open_rocks
from penstock.state.engine.rocks_config import CONFIG_SETTER, DEFAULTS, RocksOptions, options_in_use

MB = 1024 * 1024


class Setter:
    """A user's setter that gives one store more, and says when it is called."""

    calls: ClassVar[list[str]] = []

    def set_config(
        self, store_name: str, options: RocksOptions, configs: Mapping[str, Any]
    ) -> None:
        self.calls.append(f"set {store_name} {configs['application.id']}")
        if store_name == "big":
            options.set_write_buffer_size(64 * MB)
            options.table_format_config().set_block_size(16 * 1024)

    def close(self, store_name: str, options: RocksOptions) -> None:
        self.calls.append(f"close {store_name}")


@pytest.mark.parametrize("is_logged", [True, False])
def test_what_was_written_survives_close(tmp_path: Path, *, is_logged: bool) -> None:
    """Closing writes the buffers out, whether or not there is a write-ahead log."""
    store = open_rocks(tmp_path / "deep" / "store", "store", is_logged=is_logged)
    store.put(b"a", b"1")
    store.write([(b"b", b"2"), (b"a", None)])
    store.close()
    again = open_rocks(tmp_path / "deep" / "store", "store")
    assert list(again.scan(None, None)) == [(b"b", b"2")]
    again.close()


def test_many_keys_are_read_in_their_order(tmp_path: Path) -> None:
    """The engine reads some at a time; nobody can tell where one read ends."""
    store = open_rocks(tmp_path, "s")
    store.write([(b"%d" % n, b"v%d" % n) for n in range(0, 2_000, 2)])
    keys = [b"%d" % (n * 7 % 2_003) for n in range(2_003)]
    expected = [b"v%b" % key if int(key) % 2 == 0 and int(key) < 2_000 else None for key in keys]
    assert store.multi_get(keys) == expected
    assert store.multi_get([]) == []
    store.close()


def logged_bytes(folder: Path) -> int:
    total = 0
    for log in folder.glob("*.log"):
        # RocksDB may delete a log that it no longer needs at any moment.
        with suppress(FileNotFoundError):
            total += log.stat().st_size
    return total


def test_every_write_is_in_the_write_ahead_log_when_it_returns(tmp_path: Path) -> None:
    """The process may be killed at any moment; the operating system has the bytes then."""
    store = open_rocks(tmp_path, "store")
    writes = [
        lambda: store.put(b"a", b"1"),
        lambda: store.write([(b"b", b"2")], deleted=[(b"a", b"b")]),
        lambda: store.delete_range(b"a", b"b"),
    ]
    for write in writes:
        before = logged_bytes(tmp_path)
        write()
        assert logged_bytes(tmp_path) > before
    store.close()


def test_nothing_of_an_unlogged_store_goes_to_a_write_ahead_log(tmp_path: Path) -> None:
    """Single writes and batches alike skip it."""
    store = open_rocks(tmp_path, "store", is_logged=False)
    store.put(b"a", b"1")
    store.write([(b"b", b"2")])
    store.delete_range(b"a", b"b")
    assert logged_bytes(tmp_path) == 0
    store.flush()
    assert list(tmp_path.glob("*.sst"))
    store.close()


def test_the_write_ahead_log_does_not_outgrow_the_write_buffers(tmp_path: Path) -> None:
    """Disk use stays bounded: a log goes when the buffer that it protects is in a file."""
    options = {"write_buffer_size": MB, "max_write_buffer_number": 2}
    store = open_rocks(tmp_path, "store", {CONFIG_SETTER: options})
    largest = 0
    for number in range(100):
        store.write([(b"%d %d" % (number, row), b"v" * 200) for row in range(1_000)])
        largest = max(largest, logged_bytes(tmp_path))
    assert 0 < largest < 4 * MB
    store.close()


def test_directory_in_use_is_refused_with_a_fix(tmp_path: Path) -> None:
    """In this process and from another one."""
    store = open_rocks(tmp_path, "store")
    with pytest.raises(StoreError, match="store-locked") as caught:
        open_rocks(tmp_path, "store")
    assert "state.dir" in (caught.value.fix or "")
    program = (
        "from pathlib import Path\nfrom penstock.state.engine.rocks import open_rocks\n"
        f"try:\n    open_rocks(Path({str(tmp_path)!r}), 'store')\n"
        "except Exception as error:\n    print(error.code)\n"
    )
    other = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == "store-locked"
    store.close()
    open_rocks(tmp_path, "store").close()


def test_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """The error names the directory."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="store-open-failed") as caught:
        open_rocks(tmp_path / "file" / "store", "store")
    assert str(tmp_path) in caught.value.message


def test_open_iterators_do_not_keep_the_directory_locked(tmp_path: Path) -> None:
    """The engine holds its files while an iterator lives, so closing takes them away."""
    store = open_rocks(tmp_path, "store")
    store.write([(b"%d" % number, b"v") for number in range(9)])
    unread, half_read = store.scan(None, None), store.scan(None, None, reverse=True)
    next(half_read)
    store.close()
    open_rocks(tmp_path, "store").close()
    for scan in (unread, half_read):
        with pytest.raises(InvalidStateError, match="store-closed"):
            next(scan)


def test_bound_of_a_scan_outlives_the_caller_s_copy(tmp_path: Path) -> None:
    """The engine points into the bound's bytes, which are often made for the one call."""
    store = open_rocks(tmp_path, "store")
    store.write([(b"%04d" % number, b"v") for number in range(2_000)])
    for number in range(0, 1_900, 5):
        forward = store.scan(b"%04d" % number, b"%04d" % (number + 7))
        backward = store.scan(b"%04d" % number, b"%04d" % (number + 7), reverse=True)
        # Takes the memory that a bound given back too early would leave.
        taken = [b"%04d" % other for other in range(50)]
        expected = [b"%04d" % each for each in range(number, number + 7)]
        assert [key for key, _ in forward] == expected
        assert [key for key, _ in backward] == expected[::-1]
        del taken
    store.close()


def test_abandoned_iterators_are_forgotten(tmp_path: Path) -> None:
    """A loop that breaks without closing leaks nothing."""
    store = open_rocks(tmp_path, "store")
    store.put(b"a", b"1")
    for _ in range(10):
        next(store.scan(None, None))
    assert not store._scans
    store.close()


def test_calls_after_close_are_refused(tmp_path: Path) -> None:
    """Layers above say it better; the engine at least does not crash."""
    store = open_rocks(tmp_path, "store")
    store.close()
    for call in (store.flush, store.approximate_num_entries):
        with pytest.raises(InvalidStateError):
            call()
    with pytest.raises(Exception, match="closed"):
        store.get(b"a")


def test_defaults_are_those_of_kafka_streams(tmp_path: Path) -> None:
    """Read back from what RocksDB wrote down."""
    open_rocks(tmp_path, "store").close()
    used = options_in_use(tmp_path)
    expected = {
        "write_buffer_size": str(16 * MB),
        "max_write_buffer_number": "3",
        "block_size": "4096",
        "filter_policy": "bloomfilter",
        "compression": "kNoCompression",
        "compaction_style": "kCompactionStyleUniversal",
        "optimize_filters_for_hits": "false",
    }
    assert {name: used[name] for name in expected} == expected
    assert DEFAULTS["block_cache"] == 50 * MB


def test_options_read_back_as_they_were_set(tmp_path: Path) -> None:
    """By RocksDB's names, by Java's, and with Java's enum words."""
    options = {
        "writeBufferSize": 64 * MB,
        "max_write_buffer_number": 4,
        "blockSize": 16 * 1024,
        "block_cache_size": 8 * MB,
        "cacheIndexAndFilterBlocks": True,
        "pinL0FilterAndIndexBlocksInCache": True,
        "compactionStyle": "LEVEL",
        "compressionType": "LZ4_COMPRESSION",
        "compressionPerLevel": ["NO_COMPRESSION", "none", *["snappy"] * 5],
        "level0FileNumCompactionTrigger": 10,
        "level0SlowdownWritesTrigger": 20,
        "level0StopWritesTrigger": 40,
        "maxBytesForLevelBase": 128 * MB,
    }
    open_rocks(tmp_path, "store", {CONFIG_SETTER: options}).close()
    used = options_in_use(tmp_path)
    expected = {
        "write_buffer_size": str(64 * MB),
        "max_write_buffer_number": "4",
        "block_size": str(16 * 1024),
        "cache_index_and_filter_blocks": "true",
        "pin_l0_filter_and_index_blocks_in_cache": "true",
        "compaction_style": "kCompactionStyleLevel",
        "compression": "kLZ4Compression",
        "compression_per_level": "kNoCompression:" * 2 + ":".join(["kSnappyCompression"] * 5),
        "level0_file_num_compaction_trigger": "10",
        "level0_slowdown_writes_trigger": "20",
        "level0_stop_writes_trigger": "40",
        "max_bytes_for_level_base": str(128 * MB),
    }
    assert {name: used[name] for name in expected} == expected


@pytest.mark.parametrize("compression", ["none", "snappy", "lz4", "lz4hc", "zstd", "zlib", "bz2"])
def test_every_compression_stores_and_reads(tmp_path: Path, compression: str) -> None:
    """What can be chosen is built in."""
    configs = {CONFIG_SETTER: {"compression_type": compression}}
    store = open_rocks(tmp_path, "store", configs)
    store.put(b"k", b"v" * 10_000)
    store.flush()
    assert store.get(b"k") == b"v" * 10_000
    store.close()


def test_block_cache_can_be_shared(tmp_path: Path) -> None:
    """One cache for all stores bounds their memory together."""
    cache = Cache(8 * MB)
    stores = [open_rocks(tmp_path / n, n, {CONFIG_SETTER: {"block_cache": cache}}) for n in "ab"]
    for store in stores:
        store.put(b"k", b"v" * 1_000)
        store.flush()
        before = cache.get_usage()
        assert store.get(b"k") == b"v" * 1_000
        assert cache.get_usage() > before
        store.close()


@pytest.mark.parametrize("setter", [Setter, Setter()])
def test_setter_is_called_once_per_open_and_per_close(tmp_path: Path, setter: Any) -> None:
    """With the store's name, so that stores can differ; a class or an object will do."""
    Setter.calls = []
    configs = {CONFIG_SETTER: setter, "application.id": "app"}
    for name in ("big", "small"):
        open_rocks(tmp_path / name, name, configs).close()
    assert Setter.calls == ["set big app", "close big", "set small app", "close small"]
    assert options_in_use(tmp_path / "big")["write_buffer_size"] == str(64 * MB)
    assert options_in_use(tmp_path / "big")["block_size"] == str(16 * 1024)
    assert options_in_use(tmp_path / "small")["write_buffer_size"] == str(16 * MB)


def test_bad_option_opens_nothing(tmp_path: Path) -> None:
    """The directory is not touched."""
    with pytest.raises(ConfigError, match="bad-rocksdb-option"):
        open_rocks(tmp_path / "s", "s", {CONFIG_SETTER: {"compression_type": "brotli"}})
    assert not (tmp_path / "s").exists()


class Busy:
    """Rows that another thread is reading for a moment."""

    def __init__(self) -> None:
        self.asked = 0

    def throw(self, error: Exception) -> None:
        self.asked += 1
        if self.asked < 4:
            raise ValueError("generator already executing")
        raise error


def test_closing_waits_for_a_thread_that_is_reading_a_row() -> None:
    """Its rows let go of their cursor as soon as the row is read."""
    rows = Busy()
    engine._take_back(rows)
    assert rows.asked == 4
