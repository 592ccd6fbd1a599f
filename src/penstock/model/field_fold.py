"""Folds that share their rows: the state is a row too, with a field for each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    # Records one at a time need no numpy, which takes a while to import.
    import numpy as np
    from numpy.typing import NDArray

#: Takes the state of every group, for each record the number of its group, and what is folded:
#: a column for each argument. Leaves the states as they are after all records.
FoldColumns: TypeAlias = "Callable[[list[Any], NDArray[np.int64], Sequence[Sequence[Any]]], None]"


@dataclass(frozen=True, slots=True)
class FieldFold:
    """One of the folds: which fields of a row it takes, and what it makes of them.

    ``step`` takes a state and the fields, and gives the next state. ``over_columns`` does the same
    for all records of a batch; what it cannot do exactly like that it leaves to ``step`` itself.
    """

    fields: slice
    start: Callable[[], Any]
    step: Callable[..., Any]
    over_columns: FoldColumns | None = None
