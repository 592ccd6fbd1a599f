"""A global store as the processors of a task may use it: read-only."""

from __future__ import annotations

from typing import Any

from penstock.errors import UnsupportedOperationError

_WRITES = frozenset(
    {
        "put", "put_if_absent", "put_all", "delete", "remove", "restore", "flush", "close",
        "set_flush_listener", "__setitem__", "__delitem__",
    }
)  # fmt: skip


class ReadOnlyStore:
    """Passes reads on. A write raises, because only the store's own topic may change it."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        if name in _WRITES:
            raise _refused(self._inner.name, name)
        return getattr(self._inner, name)

    # Python looks operators up on the class, so ``__getattr__`` does not see them.

    def __getitem__(self, key: Any) -> Any:
        return self._inner[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._inner

    def __iter__(self) -> Any:
        return iter(self._inner)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise _refused(self._inner.name, "store[key] = value")

    def __delitem__(self, key: Any) -> None:
        raise _refused(self._inner.name, "del store[key]")


def _refused(store: str, operation: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        "global-store-read-only",
        f"global store {store!r} is read-only here: {operation}",
        fix="write to the topic of the global store",
    )
