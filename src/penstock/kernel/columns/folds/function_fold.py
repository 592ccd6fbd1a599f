"""Folds columns with functions of the user that have no side effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, ClassVar

from penstock.kernel.columns.batch import Batch
from penstock.kernel.columns.folds.column_folds import Items, Through, check_known
from penstock.kernel.columns.functions import ProvenFunction, called, checked_by
from penstock.kernel.columns.grouping import Groups
from penstock.model.user_code import user_code

#: Tells whether a store returns these states exactly as they are.
KeepsAll = Callable[[Sequence[Any]], bool]


@dataclass(frozen=True, slots=True)
class StoreRead:
    """What a state becomes when a store writes and reads it.

    ``keeps_all`` looks at many states at once, which is cheaper than to send each through the
    store's serde.
    """

    one: Through
    keeps_all: KeepsAll

    def __call__(self, state: Any) -> Any:
        return self.one(state)


class FunctionFold:
    """Calls an aggregator with key, value and state of each record, in the order of the records.

    It first takes for granted that the store returns states as they are. If it does not, the fold
    begins again and sends each state through the store's serde: the functions have no side
    effects.
    """

    is_order_free: ClassVar[bool] = False

    def __init__(self, initializer: Callable[[], Any], aggregator: Callable[..., Any]) -> None:
        self._initializer = initializer
        self._step = called(aggregator)
        self._checked = checked_by(aggregator)
        #: Which of key and value the aggregator looks at.
        self._reads = [p for p in (0, 1) if p not in getattr(aggregator, "unread", ())]

    def start(self) -> Any:
        with user_code("an initializer"):
            return self._initializer()

    def step(self, state: Any, *items: Any) -> Any:
        """Call the aggregator for one record, which has these items."""
        given = [None, None]
        for place, item in zip(self._reads, items, strict=True):
            given[place] = item
        return self._step(*given, state)

    def items(self, batch: Batch) -> Items:
        columns = (batch.keys, batch.values)
        return [self._checked(columns[place].values()) for place in self._reads]

    def finals(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> Sequence[Any]:
        check_known(self.running(items, groups, states, through))
        return states

    def running(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None = None
    ) -> list[Any]:
        self._checked(states)
        before = [*states]
        result = self._called(items, groups, states, None)
        if through is None or (isinstance(through, StoreRead) and through.keeps_all(result)):
            return result
        states[:] = before
        return self._called(items, groups, states, through)

    def _called(
        self, items: Items, groups: Groups, states: list[Any], through: Through | None
    ) -> list[Any]:
        step, result = self._step, list[Any]()
        given: list[Iterable[Any]] = [repeat(None), repeat(None)]
        for place, column in zip(self._reads, items, strict=True):
            given[place] = column
        keys, values = given
        with user_code("an aggregator"):
            for code, key, value in zip(groups.codes.tolist(), keys, values):  # noqa: B905
                state = step(key, value, states[code])
                result.append(state)
                states[code] = state if through is None or state is None else through(state)
        return result


def reducing(reducer: Callable[..., Any]) -> FunctionFold:
    """Return the fold of a reducer: the first value of a key is its state."""
    reduce = called(reducer)

    def step(_: Any, value: Any, state: Any) -> Any:
        return value if state is None else reduce(state, value)

    return FunctionFold(_nothing, ProvenFunction(step))


def _nothing() -> None:
    return None


def keeps_scalars(kind: type, limit: int | None = None) -> KeepsAll:
    """Return the check of a store that keeps all values of one type, up to a limit."""

    def keeps_all(states: Sequence[Any]) -> bool:
        if {*map(type, states)} != {kind}:
            return False
        if kind is str:
            return _is_text(states)
        return limit is None or max(map(abs, states)) < limit

    return keeps_all


def keeps_finite(states: Sequence[Any]) -> bool:
    """Tell whether JSON keeps all of these: numbers, texts and truth values of 64 bits or less."""
    types = {*map(type, states)}
    if not types <= {bool, float, int, str}:
        return False
    if str in types and not _is_text([state for state in states if type(state) is str]):
        return False
    if float in types and not all(math.isfinite(s) for s in states if type(s) is float):
        return False
    return int not in types or all(abs(s) < 2**63 for s in states if type(s) is int)


def _is_text(texts: Sequence[str]) -> bool:
    """Tell whether all texts can be written as UTF-8, which half a surrogate pair cannot."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True
