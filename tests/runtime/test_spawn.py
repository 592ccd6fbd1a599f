"""Slot servers are started, and end with their executor."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.runtime.spark.exchange.channel import ask
from tests.runtime.slot_processes import SECRET, executor, happens


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
        assert happens(lambda: not started.process.is_alive, within_s=60)
