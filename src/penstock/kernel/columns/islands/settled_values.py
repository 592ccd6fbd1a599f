"""Values as they are now, although a function of the user may still hold and change them."""

from __future__ import annotations

from copy import deepcopy
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from penstock.model.windows.windowed import Window, Windowed

#: Types whose values never change.
FROZEN: Final[frozenset[type]] = frozenset({
    bool, bytes, complex, date, datetime, Decimal, float, int, range, str, time, timedelta,
    type(None), Window,
})  # fmt: skip


def settled(value: Any) -> Any:
    """Return the value itself if nothing can change it, or else a copy of it as it is now.

    An object that cannot be copied is returned as it is.
    """
    if type(value) in FROZEN:
        return value
    try:
        return _copied(value)
    except Exception:  # noqa: BLE001 - code of the user's class, or a list that holds itself
        return _copied_deeply(value)


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind in FROZEN:
        return value
    if kind is dict:
        if {*map(type, value.values())} <= FROZEN:
            return value.copy()
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    if kind is tuple:
        return value if {*map(type, value)} <= FROZEN else tuple(map(_copied, value))
    if kind is Windowed and type(value.key) in FROZEN:
        return value
    return deepcopy(value)


def _copied_deeply(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception:  # noqa: BLE001 - code of the user's class
        return value
