"""Fault points: tests end a process at a named step of a batch, to show that nothing is lost.

``PENSTOCK_FAULT=processed:3`` kills the worker with SIGKILL in batch 3 after processing. The
variable is read once per process; without it a fault point costs one comparison.
"""

from __future__ import annotations

import os
import signal
from typing import Protocol

_WANTED = os.environ.get("PENSTOCK_FAULT", "")


class _Step(Protocol):
    @property
    def batch(self) -> int: ...


def fault_point(name: str, step: _Step) -> None:
    """Ends this process at once if a test asked for it here, once per fault file."""
    if _WANTED:
        _maybe_die(name, step.batch)


def _maybe_die(name: str, batch: int) -> None:
    wanted, _, rest = _WANTED.partition(":")
    number, _, token = rest.partition(":")
    if wanted != name or int(number) != batch:
        return
    if token:
        try:
            # The token makes the fault happen once, however often the batch is replayed.
            os.unlink(token)
        except FileNotFoundError:
            return
    os.kill(os.getpid(), signal.SIGKILL)
