"""When a windowed aggregation emits: with every update, or once, when the window closes."""

from __future__ import annotations

from enum import StrEnum


class EmitStrategy(StrEnum):
    """Chosen with ``emit_strategy`` on a windowed stream; the default is every update."""

    ON_WINDOW_UPDATE = "on_window_update"
    ON_WINDOW_CLOSE = "on_window_close"

    @staticmethod
    def on_window_update() -> EmitStrategy:
        return EmitStrategy.ON_WINDOW_UPDATE

    @staticmethod
    def on_window_close() -> EmitStrategy:
        return EmitStrategy.ON_WINDOW_CLOSE
