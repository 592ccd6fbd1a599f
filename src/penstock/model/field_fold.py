"""Aggregates over rows: the state is a row, too, with one field for each aggregate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    # A task that runs record at a time does not need numpy, which takes a while to import.
    import numpy as np
    from numpy.typing import NDArray

#: Takes the state of every group, the number of each record's group, and one column for each
#: argument. It changes the states to those after all records.
FoldColumns: TypeAlias = "Callable[[list[Any], NDArray[np.int64], Sequence[Sequence[Any]]], None]"


@dataclass(frozen=True, slots=True)
class FieldFold:
    """One of the aggregates: which fields of a row it takes, and how it folds them.

    ``step`` takes a state and the fields, and returns the next state. ``over_columns`` does the
    same for all records of a batch. If it cannot do that exactly, it calls ``step``.
    """

    fields: slice
    start: Callable[[], Any]
    step: Callable[..., Any]
    over_columns: FoldColumns | None = None
