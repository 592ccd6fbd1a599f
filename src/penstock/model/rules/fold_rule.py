"""What aggregations of streams decide about a record, with time windows or without.

The record executors (``aggregate``, ``window_aggregate``) and the column executors beside them call
the same object. A comparison takes a number or an array of numbers. Sliding windows and sessions
have rules of their own in ``model.windows``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from penstock.model.rules.drop_reasons import NULL_KEY, NULL_KEY_OR_VALUE
from penstock.model.rules.null_rule import NullRule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FoldRule:
    """How a record changes the row of its key, or of its key and window.

    A row has the highest timestamp of the records that went into it. An aggregate of ``None``
    deletes the row, and its timestamp with it: the next record starts from the initializer and
    from its own timestamp.
    """

    nulls: NullRule

    @overload
    def is_newer(self, timestamp: int, row_time: int) -> bool: ...
    @overload
    def is_newer(self, timestamp: Times, row_time: Times) -> NDArray[np.bool_]: ...
    def is_newer(self, timestamp: Any, row_time: Any) -> Any:
        """Tell whether a record moves the timestamp of the row that it is folded into."""
        return timestamp > row_time

    def result_time(self, timestamp: int, row_time: int) -> int:
        """Return the timestamp of the row after a record was folded into it."""
        return timestamp if self.is_newer(timestamp, row_time) else row_time


#: ``count``, ``reduce`` and ``aggregate`` of a grouped stream.
FOLD = FoldRule(NullRule(NULL_KEY_OR_VALUE))
#: The same per time window: as in Kafka Streams, a null value is folded, too.
WINDOW_FOLD = FoldRule(NullRule(NULL_KEY, takes_null_value=True))
