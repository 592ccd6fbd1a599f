"""Fault points: tests end a process at a named step of a batch, to show that nothing is lost.

The setting ``app.penstock.faults=processed:3:/tmp/token`` kills the process that reaches the step
``processed`` of batch 3 or a later one, if it can remove the token file. So each fault happens
once. Several faults are separated by commas. Without the setting, a fault point costs one
comparison.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class _Fault(NamedTuple):
    step: str
    batch: int
    token: str


class _Step(Protocol):
    @property
    def batch(self) -> int: ...


def _wanted(text: str) -> list[_Fault]:
    parts = [each.split(":", 2) for each in text.split(",") if each]
    return [_Fault(step, int(batch), token) for step, batch, token in parts]


_WANTED: list[_Fault] = []


def set_faults(config: Mapping[str, Any]) -> None:
    """Set the faults that a test's configuration asks for."""
    _WANTED[:] = _wanted(config.get("app.penstock.faults", ""))


def fault_point(name: str, step: _Step) -> None:
    """Kill this process if a test has asked for a fault at this step."""
    if _WANTED:
        _maybe_die(name, step.batch)


def _maybe_die(name: str, batch: int) -> None:
    for fault in _WANTED:
        if fault.step == name and batch >= fault.batch:
            try:
                os.unlink(fault.token)
            except FileNotFoundError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
