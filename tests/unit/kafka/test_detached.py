"""Processes that go on without the program that started them, in the folders of both kinds.

Exercises ``processes.detached`` and ``processes.process_folder`` with ``sleep`` in place of Java.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.connect.errors import ConnectError
from penstock.connect.worker_folder import WorkerFolder
from penstock.errors import PenstockError
from penstock.kafka.broker_folder import BrokerFolder
from penstock.kafka.errors import BrokerError
from penstock.kafka.processes import detached
from penstock.kafka.processes.process_folder import ProcessFolder

STUBBORN = (
    "import signal, time, pathlib; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "pathlib.Path('ready').touch(); time.sleep(600)"
)
POLITE = "import pathlib, time; pathlib.Path('ready').touch(); time.sleep(600)"


@pytest.fixture(params=[BrokerFolder, WorkerFolder])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> ProcessFolder:
    made: ProcessFolder = request.param(tmp_path / "process")
    return made


def started(folder: ProcessFolder, program: str) -> None:
    """Start a program that goes on, and wait until it runs."""
    lock = folder.lock()
    folder.clear_last_start(1234)

    def ready(process: subprocess.Popen[bytes]) -> None:
        while not (folder.root / "ready").exists():
            assert process.poll() is None, folder.log_tail()

    try:
        detached.start_detached([sys.executable, "-S", "-c", program], folder, lock, ready)
    finally:
        os.close(lock)


@pytest.mark.parametrize("program", [POLITE, STUBBORN])
def test_process_is_ended(
    folder: ProcessFolder, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever does not listen is killed; afterwards the folder is free."""
    if program is STUBBORN:
        monkeypatch.setattr(detached, "_STOP_TIMEOUT_S", 0.1)
    monkeypatch.setattr(detached, "_KILL_TIMEOUT_S", 60.0)
    started(folder, program)
    pid = folder.pid
    assert pid is not None
    assert folder.is_in_use()
    assert folder.port == 1234
    assert detached.end_detached(folder)
    os.waitpid(pid, 0)
    assert not folder.is_in_use()
    assert folder.pid is None


def test_process_that_is_not_ready_is_ended(folder: ProcessFolder) -> None:
    """A start that fails leaves nothing behind."""

    def refuse(process: subprocess.Popen[bytes]) -> None:
        raise RuntimeError("it will never answer")

    lock = folder.lock()
    folder.clear_last_start(1234)
    try:
        with pytest.raises(RuntimeError):
            detached.start_detached([sys.executable, "-S", "-c", POLITE], folder, lock, refuse)
    finally:
        os.close(lock)
    assert not folder.is_in_use()


def test_folder_without_a_process_id_is_not_ended(folder: ProcessFolder) -> None:
    """The process is just being started; there is nobody to signal, so the caller is told."""
    lock = folder.lock()
    assert not detached.end_detached(folder)
    with pytest.raises(PenstockError) as refused:
        folder.lock()
    assert isinstance(refused.value, BrokerError | ConnectError)
    assert refused.value.code.endswith("-folder-in-use")
    os.close(lock)


def test_long_log_is_put_aside(folder: ProcessFolder) -> None:
    """A process that is started for months does not fill the disk."""
    os.close(folder.lock())
    folder.log.write_bytes(b"x" * 10_000_001)
    folder.clear_last_start(1)
    assert not folder.log.exists()
    assert folder.log.with_name(f"{folder.log.name}.1").stat().st_size == 10_000_001


def test_file_is_found_in_the_nearest_folder_above(tmp_path: Path) -> None:
    """So commands work from everywhere inside of a project."""
    file = Path(".penstock") / "x" / "file"
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert detached.find_above(file, below) is None
    for root in (tmp_path, tmp_path / "a"):
        (root / file).parent.mkdir(parents=True)
        (root / file).touch()
        assert detached.find_above(file, below) == (root / file).parent
