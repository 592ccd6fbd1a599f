"""Replaces the bytes of a window, session or versioned store when it is closed."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.errors import InvalidStateError


class ClosedBytes:
    """Refuses every call except ``flush`` and ``close``, so that open stores need no check."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, operation: str) -> Any:
        def refuse(*args: object, **kwargs: object) -> NoReturn:
            raise InvalidStateError(
                "store-closed",
                f"store {self._name!r} is closed",
                fix="after a restart, get the store from the context again",
            )

        return refuse

    def flush(self) -> None:
        return None

    def close(self) -> None:
        return None
