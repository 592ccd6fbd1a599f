"""Which servers that do not answer are waited for. Exercises ``processes.busy``."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from penstock.runtime.spark.worker.processes import busy
from penstock.runtime.spark.worker.processes.busy import Busy
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from tests.runtime.slot_processes import executor, happens


@pytest.fixture
def registry(tmp_path: Path) -> HostRegistry:
    return HostRegistry("busy", str(tmp_path), 0)


def test_a_process_that_runs_is_waited_for_and_a_paused_one_is_not(registry: HostRegistry) -> None:
    """A paused one might wake up much later, and would keep the databases open."""
    with executor() as started:
        registry.write(Entry(started.process, started.endpoint, 1))
        is_busy = Busy(registry, started.endpoint)
        assert is_busy()
        os.kill(started.process.pid, signal.SIGSTOP)
        assert happens(lambda: not is_busy(), within_s=60)
        os.kill(started.process.pid, signal.SIGCONT)
        assert happens(is_busy, within_s=60)
        started.process.kill()
        assert happens(lambda: not is_busy(), within_s=60)


def test_nothing_is_waited_for_without_end(
    registry: HostRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is stuck for good is replaced."""
    monkeypatch.setattr(busy, "LONGEST_S", -1.0)
    with executor() as started:
        registry.write(Entry(started.process, started.endpoint, 1))
        assert not Busy(registry, started.endpoint)()


def test_a_server_that_was_replaced_is_not_waited_for(registry: HostRegistry) -> None:
    """Its slot is elsewhere."""
    with executor() as started:
        registry.write(Entry(started.process, started.endpoint, 1))
        assert not Busy(registry, started.endpoint._replace(server="another"))()
