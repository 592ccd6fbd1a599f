"""What the joins of a stream with a ``KTable`` or a ``GlobalKTable`` decide about a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from penstock.model.rules.drop_reasons import NULL_JOIN_KEY_OR_VALUE
from penstock.model.rules.null_rule import NullRule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LookupRule:
    """How a record of the stream is joined with the table's row under its join key.

    The join key is the record's key. For a global table, it is what the key selector returns. The
    result keeps the record's key, timestamp and headers.
    """

    is_left: bool

    @property
    def nulls(self) -> NullRule:
        """Which nulls are taken: a null join key has no row, but a left join emits the record."""
        return NullRule(NULL_JOIN_KEY_OR_VALUE, takes_null_key=self.is_left)

    @overload
    def emits(self, has_row: bool) -> bool: ...
    @overload
    def emits(self, has_row: Mask) -> Mask: ...
    def emits(self, has_row: Any) -> Any:
        """Tell whether a record is emitted, given whether the table has a row for it."""
        return has_row | self.is_left
