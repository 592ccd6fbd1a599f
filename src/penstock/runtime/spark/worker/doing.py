"""Which record a slot is processing: asked from outside, so that processing costs nothing more."""

from __future__ import annotations

import sys
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from penstock.runtime.spark.exchange.doing import Doing

if TYPE_CHECKING:
    from penstock.runtime.spark.worker.slot import Slot

_LIBRARY = str(Path(__file__).parents[3])


def doing(slot: Slot) -> list[Doing]:
    """Return the tasks that are processing records now, or else the step that the slot is at.

    Other threads call this.
    """
    found = []
    for task, state in list(slot.tasks.items()):
        kernel = state.kernel
        thread = None if kernel is None else kernel.thread
        if kernel is None or thread is None:
            continue
        raw = kernel.current
        record = None if raw is None else (raw[0], raw[1], raw[2])
        found.append(Doing(task, record, _line(sys._current_frames().get(thread))))
    return found or [Doing(None, None, step=step) for step in (slot.step,) if step]


def _line(frame: FrameType | None) -> str:
    """Return the innermost line of a thread that is the program's own."""
    while frame is not None:
        file = frame.f_code.co_filename
        is_ours = file.startswith((_LIBRARY, "<"))
        if not is_ours and "site-packages" not in file and not file.startswith(sys.base_prefix):
            return f"{Path(file).name}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
