"""Which slot servers a host knows: files in a folder of this user alone."""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from penstock.errors import StoreError, StreamsError
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes import host_registry
from penstock.runtime.spark.worker.processes.host_registry import (
    Entry,
    HostRegistry,
    private_folder,
    sweep_pools,
)
from penstock.runtime.spark.worker.processes.process_tree import Process, this_process

ENDPOINT = Endpoint("server", "127.0.0.1", 4711, "7")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(host_registry.tempfile, "gettempdir", lambda: str(tmp_path))
    return tmp_path


def mode(folder: Path) -> int:
    return stat.S_IMODE(folder.stat().st_mode)


# The private folder


def test_the_folder_is_for_this_user_alone(temporary: Path) -> None:
    """Whoever could write there could have any process of the user killed."""
    folder = private_folder()
    assert folder.parent == temporary
    assert mode(folder) == 0o700
    assert private_folder() == folder


def test_a_folder_that_others_may_read_is_closed(temporary: Path) -> None:
    """An earlier version, or a wrong umask, may have left it open."""
    private_folder().chmod(0o755)
    assert mode(private_folder()) == 0o700


def test_a_link_in_place_of_the_folder_is_refused(temporary: Path) -> None:
    """Another user may have put it there, to lead files elsewhere."""
    folder = private_folder()
    folder.rmdir()
    (temporary / "elsewhere").mkdir()
    folder.symlink_to(temporary / "elsewhere")
    with pytest.raises(StreamsError) as raised:
        private_folder()
    assert raised.value.code == "foreign-folder"


# The registry


def test_a_slot_is_found_by_application_folder_and_number(temporary: Path) -> None:
    """Two applications of a host, or two slots of one, never share an entry."""
    entry = Entry(this_process(), ENDPOINT, 4)
    HostRegistry("app", "/state", 3).write(entry)
    assert HostRegistry("app", "/state", 3).read() == entry
    for other in (("app", "/state", 2), ("app", "/other", 3), ("other", "/state", 3)):
        assert HostRegistry(*other).read() is None


def test_a_process_that_is_gone_is_not_found(temporary: Path) -> None:
    """Also if another process has its number by now."""
    registry = HostRegistry("app", "/state", 0)
    registry.write(Entry(Process(this_process().pid, "12345"), ENDPOINT, 1))
    assert registry.read() is None


@pytest.mark.parametrize("text", ["", "[", "null", "[]", "[1, 2, 3]", '[["a"], [], 1]'])
def test_a_broken_file_is_no_entry(temporary: Path, text: str) -> None:
    """A host may have crashed while it was written."""
    registry = HostRegistry("app", "/state", 0)
    registry.write(Entry(this_process(), ENDPOINT, 1))
    (file,) = private_folder().glob("*.json")
    file.write_text(text)
    assert registry.read() is None


def test_places_of_two_pools_are_told_apart(temporary: Path) -> None:
    """Two servers of SQL on one host must not end each other's processes."""
    entry = Entry(this_process(), ENDPOINT, 0)
    HostRegistry.of_place("one", 0).write(entry)
    assert HostRegistry.of_place("one", 0).read() == entry
    assert HostRegistry.of_place("two", 0).read() is None
    assert HostRegistry("one", "", 0).read() is None


@pytest.mark.parametrize(("began", "age_s", "is_left"), [("", 2e5, False), ("", 0.0, True)])
def test_files_of_pools_that_ended_long_ago_are_swept(
    temporary: Path, began: str, age_s: float, is_left: bool
) -> None:
    """Each driver has a pool of a new name, and nothing else would delete its files."""
    registry = HostRegistry.of_place("ended", 0)
    with registry.locked():
        registry.write(Entry(Process(1, began), ENDPOINT, 0))
    for file in private_folder().iterdir():
        os.utime(file, (time.time() - age_s,) * 2)
    sweep_pools()
    assert bool(list(private_folder().iterdir())) == is_left


def test_the_file_of_a_living_server_is_never_swept(temporary: Path) -> None:
    """A driver may run for months without writing it again."""
    registry = HostRegistry.of_place("living", 0)
    registry.write(Entry(this_process(), ENDPOINT, 0))
    (file,) = private_folder().iterdir()
    os.utime(file, (0, 0))
    sweep_pools()
    assert registry.read() is not None


# A full disk


def test_a_full_temporary_folder_is_waited_for(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver tries the batch again after ``disk-full``. Any other error is for the handler."""
    registry = HostRegistry("app", "/state", 1)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(StoreError, match=r"temporary folder .* is full") as raised:
        registry.write(Entry(this_process(), ENDPOINT, 1))
    assert raised.value.code == "disk-full"
    monkeypatch.setattr(host_registry.os, "open", full)
    with pytest.raises(StoreError, match=r"temporary folder .* is full"), registry.locked():
        pass


def test_errors_inside_of_the_lock_are_not_taken_for_a_full_disk(temporary: Path) -> None:
    with pytest.raises(OSError, match="No space left"), HostRegistry("app", "/s", 1).locked():
        raise OSError(errno.ENOSPC, "No space left on device")
