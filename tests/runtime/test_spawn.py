"""Slot servers are started, found again, and end with their executor."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker import spawn
from penstock.runtime.spark.worker.process_tree import Process, this_process
from penstock.runtime.spark.worker.spawn import Entry, HostRegistry, private_folder
from tests.runtime.slot_processes import SECRET, executor, happens

ENDPOINT = Endpoint("server", "127.0.0.1", 4711, "7")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(spawn.tempfile, "gettempdir", lambda: str(tmp_path))
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


# Processes


@pytest.mark.parametrize(("kind", "name"), [("plain", "penstock-slot3"), ("threads", None)])
def test_a_server_outlives_its_worker_and_ends_with_the_executor(
    kind: str, name: str | None
) -> None:
    """Spark ends idle workers; state must go on until the JVM is gone."""
    with executor(kind) as started:
        answer = ask(started.endpoint, SECRET, ("ping",))
        assert answer == started.endpoint
        assert (answer.executor, answer.host) == ("7", "127.0.0.1")
        shown = Path(f"/proc/{started.process.pid}/comm").read_text().strip()
        assert name is None or shown == name[:15]
        started.executor.kill()
        assert happens(lambda: not started.process.is_alive, within_s=3.0)
