"""Whether a store returns a state as it was written, so that it may stay in memory meanwhile.

Record at a time, every state is written to its store and read again before the next record uses it.
A store of doubles makes a float of an int, and a store of longs refuses an int that is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from penstock.kernel.columns.batch import NotProvenError
from penstock.kernel.columns.column_executor import NotVectorisableError
from penstock.kernel.columns.folds.column_folds import (
    AggregatorFold,
    ColumnFold,
    CountFold,
    Items,
    Through,
)
from penstock.kernel.columns.folds.function_fold import (
    FunctionFold,
    KeepsAll,
    StoreRead,
    keeps_finite,
    keeps_scalars,
)
from penstock.kernel.columns.folds.row_fold import RowFold
from penstock.serde.base import Serde
from penstock.serde.columns import decode_all, encode_all, known
from penstock.serde.json import JsonSerde
from penstock.serde.primitives import (
    BytesSerde,
    DoubleSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
)

_NONE = type(None)
#: The types of values that a serde returns as they were, or as ``Through`` changes them.
_KEPT: dict[type, frozenset[type]] = {
    BytesSerde: frozenset({bytes}),
    DoubleSerde: frozenset({float, int, _NONE}),
    IntegerSerde: frozenset({int, _NONE}),
    JsonSerde: frozenset({bool, dict, float, int, list, str, _NONE}),
    LongSerde: frozenset({int, _NONE}),
    ShortSerde: frozenset({int, _NONE}),
    StringSerde: frozenset({str, _NONE}),
}
#: The type of values that a store of one type keeps exactly.
_ONLY: dict[type, type] = {
    BytesSerde: bytes, DoubleSerde: float, IntegerSerde: int, LongSerde: int, ShortSerde: int,
    StringSerde: str,
}  # fmt: skip
_LIMITS: dict[type, int] = {ShortSerde: 2**15, IntegerSerde: 2**31, LongSerde: 2**63}

Check = Callable[[Items, Sequence[Any]], Through | None]


def state_check(serde: Serde[Any], fold: ColumnFold) -> Check:
    """Return a check that takes the folded items and the states, and returns a ``Through``.

    ``None`` says that the store returns states as they are. The check raises if the store may do
    anything else.
    """
    if isinstance(fold, AggregatorFold | RowFold):
        # The types of the folded items say nothing about the states, so each state goes through the
        # serde.
        through = None if known(serde).keeps_values else _through(serde)
        return lambda items, states: through
    if isinstance(fold, FunctionFold):
        read = store_read(serde)
        return lambda items, states: read
    kept = _KEPT.get(type(serde))
    is_exact = int in (kept or ()) and not isinstance(serde, DoubleSerde)
    if kept is None or (isinstance(fold, CountFold) and not is_exact):
        raise NotVectorisableError(f"states may change in a store with {type(serde).__name__}")
    limit = _LIMITS.get(type(serde))

    def check(items: Items, states: Sequence[Any]) -> Through | None:
        found = set(chain.from_iterable(map(type, column) for column in items))
        if not found <= kept:
            raise NotProvenError("states may change in their store")
        if limit is not None and items and _reach(items, states) >= limit:
            raise NotProvenError("a state may be too large for its store")
        if dict in found or list in found:
            for column in items:
                if decode_all(serde, encode_all(serde, column)) != column:
                    raise NotProvenError("states may change in their store")
        return float if isinstance(serde, DoubleSerde) and found != {float} else None

    return check


def store_read(serde: Serde[Any]) -> StoreRead | None:
    """Return what states become in a store with this serde; ``None`` if it keeps all of them."""
    return None if known(serde).keeps_values else StoreRead(_through(serde), _keeps_all(serde))


def _keeps_all(serde: Serde[Any]) -> KeepsAll:
    """Return a check of many states: whether the serde keeps them for certain."""
    if type(serde) in _ONLY:
        return keeps_scalars(_ONLY[type(serde)], _LIMITS.get(type(serde)))
    return keeps_finite if isinstance(serde, JsonSerde) else lambda states: False


def _through(serde: Serde[Any]) -> Through:
    return lambda state: serde.decode(serde.encode(state))


def _reach(items: Items, states: Sequence[Any]) -> int:
    """Return how far from zero any sum of these can be."""
    total: int = sum(abs(item) for column in items for item in column if item is not None)
    highest: int = max((abs(state) for state in states if state is not None), default=0)
    return total + highest
