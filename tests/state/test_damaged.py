"""Damaged databases: every read notices, opening refuses, and putting aside makes room."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from penstock.errors import StoreError
from penstock.state.bytes_store import Entry
from penstock.state.engine.damaged import DAMAGED, is_damage, set_aside
from penstock.state.engine.rocks import RocksStore, open_rocks

ROWS = 200_000


def key_of(number: int) -> bytes:
    return b"%08d" % number


def value_of(number: int) -> bytes:
    return b"value %08d " % number * 5


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed database with all rows in files."""
    folder = tmp_path_factory.mktemp("intact") / "store"
    store = open_rocks(folder, "store")
    for start in range(0, ROWS, 20_000):
        store.write([(key_of(n), value_of(n)) for n in range(start, start + 20_000)])
    store.flush()
    store.close()
    return folder


@pytest.fixture
def folder(intact: Path, tmp_path: Path) -> Path:
    """A copy of the database that the test may damage."""
    return Path(shutil.copytree(intact, tmp_path / "store"))


@pytest.fixture
def damaged(folder: Path) -> Iterator[RocksStore]:
    """An open database with a damaged data block."""
    flip(largest_table(folder))
    store = open_rocks(folder, "counts")
    yield store
    store.close()


def largest_table(folder: Path) -> Path:
    return max(folder.glob("*.sst"), key=lambda file: file.stat().st_size)


def manifest(folder: Path) -> Path:
    return next(folder.glob("MANIFEST-*"))


def flip(file: Path) -> None:
    """Changes 16 bytes in the middle of a file, as a bad disk does."""
    data = bytearray(file.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 16] = bytes(byte ^ 0xFF for byte in data[middle : middle + 16])
    file.write_bytes(data)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_over_damage_raises_and_never_ends_early(
    damaged: RocksStore, *, reverse: bool
) -> None:
    """Rows before the damage are right; behind them comes an error, not the end."""
    numbers = range(ROWS - 1, -1, -1) if reverse else range(ROWS)
    expected = ((key_of(number), value_of(number)) for number in numbers)
    seen: list[Entry] = []
    with pytest.raises(StoreError, match="store-damaged"):
        seen.extend(damaged.scan(None, None, reverse=reverse))
    assert 0 < len(seen) < ROWS
    assert seen == list(islice(expected, len(seen)))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_beside_the_damage_is_complete(damaged: RocksStore, *, reverse: bool) -> None:
    """Only what cannot be read is refused."""
    rows = list(damaged.scan(key_of(10), key_of(1_010), reverse=reverse))
    assert [key for key, _ in sorted(rows)] == [key_of(n) for n in range(10, 1_010)]
    assert [value for _, value in islice(damaged.scan(key_of(10), None), 3)] == [
        value_of(n) for n in (10, 11, 12)
    ]


def test_a_get_returns_the_right_row_or_raises(damaged: RocksStore) -> None:
    """A row that cannot be read is not a missing row."""
    failed: set[str] = set()
    for number in range(ROWS):
        try:
            assert damaged.get(key_of(number)) == value_of(number)
        except StoreError as error:
            failed.add(error.code)
    assert failed == {DAMAGED}


def test_a_multi_get_raises_instead_of_leaving_rows_out(damaged: RocksStore) -> None:
    """One row of many that cannot be read makes the whole answer an error."""
    assert damaged.multi_get([key_of(1), b"x"]) == [value_of(1), None]
    with pytest.raises(StoreError, match="store-damaged"):
        damaged.multi_get([key_of(number) for number in range(ROWS)])


def test_the_error_names_store_and_folder_and_says_what_happens(
    damaged: RocksStore, folder: Path
) -> None:
    """The user learns what is damaged, where, and that the changelog has it all."""
    with pytest.raises(StoreError) as caught:
        list(damaged.scan(None, None))
    assert "'counts'" in caught.value.message
    assert str(folder) in caught.value.message
    assert "restored from its changelog" in (caught.value.fix or "")


DAMAGES: dict[str, Callable[[Path], object]] = {
    "manifest changed": lambda folder: flip(manifest(folder)),
    "manifest empty": lambda folder: manifest(folder).write_bytes(b""),
    "manifest missing": lambda folder: manifest(folder).unlink(),
    "current changed": lambda folder: flip(folder / "CURRENT"),
    "current empty": lambda folder: (folder / "CURRENT").write_bytes(b""),
    "current missing": lambda folder: (folder / "CURRENT").unlink(),
    "table missing": lambda folder: largest_table(folder).unlink(),
    "table empty": lambda folder: largest_table(folder).write_bytes(b""),
    "table truncated": lambda folder: largest_table(folder).write_bytes(
        largest_table(folder).read_bytes()[:100_000]
    ),
}


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_opening_a_damaged_database_is_refused(folder: Path, damage: str) -> None:
    """It says so at once, and again: it never opens as an empty or a smaller store."""
    DAMAGES[damage](folder)
    for _ in range(2):
        with pytest.raises(StoreError, match="store-damaged") as caught:
            open_rocks(folder, "counts")
        assert "'counts'" in caught.value.message
        assert str(folder) in caught.value.message


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_database_put_aside_makes_room_for_an_empty_one(
    folder: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The damaged files stay beside it, and the log says where."""
    DAMAGES[damage](folder)
    with caplog.at_level(logging.WARNING):
        aside = set_aside(folder)
    assert aside == folder.with_name("store.damaged-1")
    assert aside.is_dir()
    assert str(aside) in caplog.text
    store = open_rocks(folder, "counts")
    assert list(store.scan(None, None)) == []
    store.put(b"k", b"v")
    store.close()


def test_a_database_found_damaged_while_open_can_be_put_aside(folder: Path) -> None:
    """Closing it lets go of the files, even with a scan that failed still in use."""
    flip(largest_table(folder))
    store = open_rocks(folder, "counts")
    scan = store.scan(None, None)
    next(scan)
    with pytest.raises(StoreError, match="store-damaged"):
        list(store.scan(None, None))
    store.close()
    set_aside(folder)
    again = open_rocks(folder, "counts")
    assert list(again.scan(None, None)) == []
    again.close()


def test_only_the_two_newest_damaged_copies_stay(tmp_path: Path) -> None:
    """A disk that damages one database after the other is not filled up by them."""
    other = tmp_path / "other.damaged-1"
    other.mkdir()
    for number in range(1, 13):
        (tmp_path / "store").mkdir()
        (tmp_path / "store" / "number").write_text(str(number))
        set_aside(tmp_path / "store")
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["other.damaged-1", "store.damaged-11", "store.damaged-12"]
    assert (tmp_path / "store.damaged-12" / "number").read_text() == "12"


def test_a_folder_that_cannot_be_put_aside_says_why(tmp_path: Path) -> None:
    """A folder that is not there cannot be renamed."""
    with pytest.raises(StoreError, match="store-set-aside-failed") as caught:
        set_aside(tmp_path / "missing")
    assert "missing" in caught.value.message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Corruption: block checksum mismatch: stored = 1, computed = 2", True),
        ("IO error: No such file or directory: While open a file: 000008.sst", True),
        ("Corruption: truncated record body", True),
        ("IO error: While open a file for random read: 1.sst: Too many open files", False),
        ("IO error: No space left on device: While appending to file", False),
        ("Corruption: IO error: While pread: 000008.sst: Input/output error", False),
        ("IO error: While lock file: LOCK: Resource temporarily unavailable", False),
    ],
)
def test_only_damaged_files_are_damage(text: str, *, expected: bool) -> None:
    """A cause that may pass must not cost the whole local state."""
    assert is_damage(Exception(text)) is expected


def test_the_limit_of_open_files_is_not_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening fails with the code that it always had, and the files stay."""

    def refuse(path: str, options: object) -> None:
        raise Exception(f"IO error: While open a file: {path}/1.sst: Too many open files")

    monkeypatch.setattr("penstock.state.engine.rocks.Rdict", refuse)
    with pytest.raises(StoreError, match="store-open-failed"):
        open_rocks(folder, "counts")
