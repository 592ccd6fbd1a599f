"""Reads the final contents of a driver's stores in the golden's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import penstock as ps
from tests.oracle.serdes import codec_name_of
from tests.oracle.values import MAX_LONG, fmt, is_windowed, json_text

Entry = list[Any]


def read_stores(
    case: Mapping[str, Any], driver: ps.TopologyTestDriver
) -> dict[str, dict[str, Any]]:
    """Gives kind and entries of every store; what has no JSON form only as a count."""
    return {name: _read(case, driver, name) for name in driver.state_store_names()}


def _read(case: Mapping[str, Any], driver: ps.TopologyTestDriver, name: str) -> dict[str, Any]:
    store = driver.get_state_store(name)
    kind = str(store.kind)
    try:
        if kind == "versioned_kv":
            return {"kind": kind, "entries": list(_versions(case, store, name))}
        if kind in _READ:
            found = store.fetch_range(None, None) if kind == "session" else store.all()
            entries = [_READ[kind](key, value) for key, value in found]
            return {"kind": kind, "entries": sorted(entries, key=_order(kind))}
        return {"kind": _JAVA_KIND.get(kind, kind), "opaque_entries": sum(1 for _ in store.all())}
    except Exception as error:  # noqa: BLE001
        return {"kind": kind, "unreadable": f"{type(error).__name__}: {error}"}


def _plain(key: Any) -> Any:
    return fmt(key) if isinstance(key, bytes) or is_windowed(key) else key


def _value(value: Any) -> Any:
    return fmt(value) if isinstance(value, bytes) else value


def _key_value(key: Any, value: Any) -> Entry:
    return [_plain(key), _value(value)]


def _timestamped(key: Any, value: Any) -> Entry:
    return [_plain(key), _value(value.value), value.timestamp]


def _windowed(key: Any, value: Any) -> Entry:
    return [_plain(key.key), _value(value), key.window.start, key.window.end]


def _timestamped_windowed(key: Any, value: Any) -> Entry:
    return [*_windowed(key, value.value), value.timestamp]


#: What Java builds these stores of.
_JAVA_KIND = {"foreign_key_subscription": "timestamped_kv", "outer_join": "kv"}

_READ: dict[str, Callable[[Any, Any], Entry]] = {
    "kv": _key_value,
    "timestamped_kv": _timestamped,
    "window": _windowed,
    "timestamped_window": _timestamped_windowed,
    "session": _windowed,
}


def _order(kind: str) -> Callable[[Entry], Any]:
    has_window = kind in ("window", "timestamped_window", "session")
    return lambda entry: (json_text(entry[0]), *(entry[2:4] if has_window else ()))


def _versions(case: Mapping[str, Any], store: Any, name: str) -> Iterator[Entry]:
    """Asks for every input key as of every input timestamp, as the golden does."""
    records = [each for each in case["inputs"] if "timestamp" in each]
    times = sorted({each["timestamp"] for each in records})
    wanted = _key_serde(case, name)
    keys = {json_text(each["key"]): each["key"] for each in records if each.get("key") is not None}
    for _, key in sorted(keys.items()):
        if wanted is not None and codec_name_of(key) != wanted:
            continue
        for time in times:
            found = store.get(key, time)
            if found is not None:
                yield [key, time, _value(found.value), found.timestamp, _end(found.valid_to)]


def _key_serde(case: Mapping[str, Any], name: str) -> str | None:
    for op in case["topology"]:
        for declared in (op.get("store"), op.get("materialized"), *op.get("supplier_stores", [])):
            if declared and declared.get("name") == name:
                serde: str | None = declared.get("key_serde")
                return serde
    return None


def _end(valid_to: int | None) -> int | None:
    return None if valid_to in (None, -1, MAX_LONG) else valid_to


def read_view(
    case: Mapping[str, Any], view: Any, name: str, expected: Mapping[str, Any], shift_ms: int
) -> list[Entry] | None:
    """Gives the entries of a store of a running application, without timestamps of their own.

    Windows are shown as much earlier as the records were written later.
    """
    kind = expected["kind"]
    if "entries" not in expected or kind not in (*_READ, "versioned_kv"):
        return None
    if kind == "versioned_kv":
        return list(_versions(case, view, name))
    has_window = "window" in kind or kind == "session"
    read = _windowed if has_window else _key_value
    entries = [read(key, value) for key, value in view.all()]
    for entry in entries:
        entry[2:] = [time - shift_ms for time in entry[2:]]
    return sorted(entries, key=_order(kind))
