"""The lock of a host among real processes: one that ends, one that is stopped, one that is slow."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.errors import StreamsError
from penstock.runtime.spark.worker.processes import host_lock as module
from penstock.runtime.spark.worker.processes.host_lock import host_lock
from penstock.runtime.spark.worker.processes.process_tree import Process, began, this_process
from tests.runtime.slot_processes import happens

_HOLD = """
import os, sys, time
from penstock.runtime.spark.worker.processes.host_lock import host_lock
with host_lock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), "it"):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "slot.lock"


@pytest.fixture
def handle(file: Path) -> Iterator[int]:
    opened = os.open(file, os.O_RDWR | os.O_CREAT)
    yield opened
    os.close(opened)


@pytest.fixture
def holder(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", _HOLD, str(file)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.kill()
    process.wait(60)
    process.stdout.close()


def test_a_lock_is_free_after_its_holder_has_released_it(file: Path, handle: int) -> None:
    """And it names nobody any more, whatever happens to that process later."""
    with host_lock(handle, "it"):
        assert module._holder(handle) == this_process()
    other = os.open(file, os.O_RDWR)
    assert module._holder(other) is None
    with host_lock(other, "it"):
        assert not module._is_acquired(handle)
    os.close(other)


def test_a_holder_that_is_stopped_is_ended(
    handle: int, holder: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others of its host would wait until somebody continues it."""
    monkeypatch.setattr(module, "_STOPPED_LOOKS", 3)
    holder.send_signal(signal.SIGSTOP)
    with host_lock(handle, "it"):
        assert holder.wait(60) == -signal.SIGKILL


def test_a_holder_that_is_stopped_for_a_moment_goes_on(
    handle: int, holder: subprocess.Popen[bytes]
) -> None:
    held = threading.Event()

    def wait() -> None:
        with host_lock(handle, "it"):
            held.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    holder.send_signal(signal.SIGSTOP)
    assert not held.wait(0.5)
    holder.send_signal(signal.SIGCONT)
    assert holder.poll() is None
    holder.kill()
    waiting.join(60)
    assert held.is_set()


def test_a_holder_that_works_for_too_long_is_named(
    handle: int, holder: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not ended: it may be starting a server on a slow host. The batch runs again."""
    monkeypatch.setattr(module, "_LONGEST_S", 0.2)
    with (
        pytest.raises(StreamsError, match=rf"process {holder.pid} .* holds it") as raised,
        host_lock(handle, "it"),
    ):
        pass
    assert raised.value.code == "worker-lost"
    assert holder.poll() is None


def test_a_process_that_is_stopped_is_told_from_one_that_waits(
    holder: subprocess.Popen[bytes],
) -> None:
    process = Process(holder.pid, began(holder.pid))
    assert not process.is_stopped
    holder.send_signal(signal.SIGSTOP)
    assert happens(lambda: process.is_stopped, within_s=60)
    assert not Process(holder.pid, "earlier").is_stopped
