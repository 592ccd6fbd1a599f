"""A restore listener for tests."""

from __future__ import annotations

from typing import Any


class Heard:
    """A restore listener that notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def on_restore_start(self, *told: Any) -> None:
        self.calls.append(("start", *told))

    def on_batch_restored(self, *told: Any) -> None:
        self.calls.append(("batch", *told))

    def on_restore_end(self, *told: Any) -> None:
        self.calls.append(("end", *told))

    def on_restore_suspended(self, *told: Any) -> None:
        self.calls.append(("suspended", *told))
