"""Store commands given as text: what ``kv_commands`` and its siblings run and answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from tests.oracle.values import MAX_LONG, fmt

#: Makes a timestamped value, or None when the store holds bare ones.
Wrap = Callable[[Any, int], Any] | None
Run = Callable[[Any, Any, Wrap], str]

_VALID_TO_UNDEFINED = -1
_NOT_PUT = -MAX_LONG - 1


def stored_text(value: Any) -> str:
    """Gives a stored value as text; a timestamped one reads value, ``@``, timestamp."""
    if isinstance(value, ps.ValueAndTimestamp):
        return f"{fmt(value.value)}@{value.timestamp}"
    return fmt(value)


def _entries(iterator: Any) -> str:
    with iterator as entries:
        return ",".join(f"{fmt(key)}={stored_text(value)}" for key, value in entries)


def _bound(word: str) -> str | None:
    return None if word == "*" else word


def run_kv(store: Any, record: Any, wrap: Wrap) -> str:
    """Runs a key-value command."""
    key, (name, *args) = record.key, record.value.split(":")

    def new() -> Any:
        return wrap(args[0], record.timestamp) if wrap else args[0]

    match name:
        case "put":
            store.put(key, new())
        case "put_null":
            store.put(key, None)
        case "put_if_absent":
            return stored_text(store.put_if_absent(key, new()))
        case "delete":
            return stored_text(store.delete(key))
        case "get":
            return stored_text(store.get(key))
        case "range" | "reverse_range":
            return _entries(getattr(store, name)(_bound(args[0]), _bound(args[1])))
        case "all" | "reverse_all":
            return _entries(getattr(store, name)())
        case "prefix":
            return _entries(store.prefix_scan(args[0], ps.Serdes.string()))
        case _:
            raise ValueError(f"unknown key-value command {record.value!r}")
    return "ok"


def run_window(store: Any, record: Any, _wrap: Wrap) -> str:
    """Runs a window store command."""
    key, (name, *args) = record.key, record.value.split(":")
    match name:
        case "put":
            store.put(key, args[0], int(args[1]) if len(args) > 1 else record.timestamp)
        case "put_null":
            store.put(key, None, int(args[0]))
        case "get":
            return stored_text(store.fetch(key, int(args[0])))
        case "fetch" | "backward_fetch":
            return _entries(getattr(store, name)(key, int(args[0]), int(args[1])))
        case "fetch_keys":
            low, high, start, end = args
            return _entries(store.fetch_range(_bound(low), _bound(high), int(start), int(end)))
        case "fetch_all":
            return _entries(store.fetch_all(int(args[0]), int(args[1])))
        case "all" | "backward_all":
            return _entries(getattr(store, name)())
        case _:
            raise ValueError(f"unknown window command {record.value!r}")
    return "ok"


def run_session(store: Any, record: Any, _wrap: Wrap) -> str:
    """Runs a session store command."""
    key, (name, *args) = record.key, record.value.split(":")

    def session(start: str, end: str) -> Any:
        return ps.Windowed(key, ps.Window(int(start), int(end)))

    match name:
        case "put":
            store.put(session(args[1], args[2]), args[0])
        case "remove":
            store.remove(session(args[0], args[1]))
        case "get":
            return stored_text(store.fetch_session(key, int(args[0]), int(args[1])))
        case "fetch" | "backward_fetch":
            return _entries(getattr(store, name)(key))
        case "find" | "backward_find":
            find = store.find_sessions if name == "find" else store.backward_find_sessions
            return _entries(find(key, int(args[0]), int(args[1])))
        case "find_keys":
            low, high, end, start = args
            found = store.find_sessions_range(_bound(low), _bound(high), int(end), int(start))
            return _entries(found)
        case "fetch_keys":
            return _entries(store.fetch_range(_bound(args[0]), _bound(args[1])))
        case _:
            raise ValueError(f"unknown session command {record.value!r}")
    return "ok"


def run_versioned(store: Any, record: Any, _wrap: Wrap) -> str:
    """Runs a versioned store command."""
    key, (name, *args) = record.key, record.value.split(":")
    match name:
        case "put":
            time = int(args[1]) if len(args) > 1 else record.timestamp
            return _valid_to(store.put(key, args[0], time))
        case "put_null":
            return _valid_to(store.put(key, None, int(args[0])))
        case "delete":
            return _version(store.delete(key, int(args[0])))
        case "get":
            return _version(store.get(key))
        case "get_as_of":
            return _version(store.get(key, int(args[0])))
        case _:
            raise ValueError(f"unknown versioned command {record.value!r}")


def _valid_to(result: int) -> str:
    if result == _NOT_PUT:
        return "not_put"
    return "valid_to=latest" if result == _VALID_TO_UNDEFINED else f"valid_to={result}"


def _version(found: Any) -> str:
    if found is None:
        return "null"
    end = "" if found.valid_to is None else f"..{found.valid_to}"
    return f"{fmt(found.value)}@{found.timestamp}{end}"
