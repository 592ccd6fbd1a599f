"""End the standby of a slot that starts on the same host."""

from __future__ import annotations

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.worker.processes.host_registry import HostRegistry


def end_standby(application_id: str, state_dir: str, number: int, secret: bytes) -> None:
    """End the standby of a slot on this host, so that the slot can have its folders."""
    registry = HostRegistry(application_id, state_dir, f"standby-{number}")
    with registry.locked():
        entry = registry.read()
        if entry is None:
            return
        try:
            ask(entry.endpoint, secret, ("stand-down", application_id, number))
        except StreamsError:
            # It belongs to an older run, or hangs. What it has not written is read again.
            entry.process.kill()
