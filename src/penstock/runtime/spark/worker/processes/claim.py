"""Make a slot server of a pool the only process on this host that has a slot.

A server that belongs to one application is found by the Spark task (``slot_task``). A server of a
pool gets applications later, from wherever their tasks run, so it looks itself.
"""

from __future__ import annotations

from penstock.errors import StreamsError, TaskMigratedError
from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.stage_request import Application, Endpoint
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from penstock.runtime.spark.worker.processes.process_tree import this_process

_SILENCE_S = 5.0


def claim(application: Application, number: int, own: Endpoint, secret: bytes) -> None:
    """Take a slot over from any other process of this host, and enter this one.

    Raises:
        TaskMigratedError: ``fenced``, if the other process works for a newer driver.
    """
    registry = HostRegistry(application.id, application.state_dir, number)
    with registry.locked():
        entry = registry.read()
        if entry is not None and entry.endpoint != own:
            if entry.generation > application.generation:
                raise TaskMigratedError(
                    "fenced",
                    f"slot {number} on this host belongs to a newer driver",
                    fix="nothing to do if another instance was started",
                )
            if not _gives_way(entry, application.id, number, secret):
                # The process belongs to an older driver, or it is paused. It must not keep the
                # databases open.
                entry.process.kill()
        registry.write(Entry(this_process(), own, application.generation))


def _gives_way(entry: Entry, application_id: str, number: int, secret: bytes) -> bool:
    """Let another server of the same driver close the slot, but not its other slots."""
    try:
        ask(entry.endpoint, secret, ("evict", application_id, number), silence_s=_SILENCE_S)
    except StreamsError:
        return False
    return True
