"""What the aggregation of a grouped table decides about a change of a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A row as its group has it: the key of the group and the value.
Pair = tuple[Any, Any]
#: A change of a group: key, new value, old value.
GroupChange = tuple[Any, Any, Any]
#: ``(key, new, old, before) -> after``: the state of a group after a change. ``None`` is no row.
Step = Callable[[Any, Any, Any, Any], Any]


def belongs(pair: Any) -> bool:
    """Tell whether a row belongs to a group: it does not without a new key or a new value.

    A user's function may return ``None`` although its type hint says otherwise.
    """
    return pair is not None and pair[0] is not None and pair[1] is not None


def regrouped(old: Pair | None, new: Pair | None) -> tuple[GroupChange, ...]:
    """Return the changes of groups for one change of a row: the old row's group comes first.

    In one group, it is one change. As two, the aggregation would forward the state between them.
    """
    if old is None:
        return () if new is None else ((new[0], new[1], None),)
    if new is None:
        return ((old[0], None, old[1]),)
    if old[0] == new[0]:
        return ((old[0], new[1], old[1]),)
    return (old[0], None, old[1]), (new[0], new[1], None)


def aggregate_step(
    initializer: Callable[[], Any],
    adder: Callable[[Any, Any, Any], Any],
    subtractor: Callable[[Any, Any, Any], Any],
) -> Step:
    """Return what subtracts the old value from a state, and then adds the new one."""

    def step(key: Any, new: Any, old: Any, before: Any) -> Any:
        after = before
        if before is not None and old is not None:
            after = subtractor(key, old, before)
        if new is None:
            return after
        return adder(key, new, initializer() if after is None else after)

    return step


def reduce_step(adder: Callable[[Any, Any], Any], subtractor: Callable[[Any, Any], Any]) -> Step:
    """Return the same for a reduction. If nothing is left, the new value is the state."""

    def step(key: Any, new: Any, old: Any, before: Any) -> Any:
        after = before
        if before is not None and old is not None:
            after = subtractor(before, old)
        if new is None:
            return after
        return new if after is None else adder(after, new)

    return step
