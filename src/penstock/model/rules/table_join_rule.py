"""What a join of two tables on their key decides about a row of both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TableJoinRule:
    """Which rows have a result, and which changes of one side are forwarded, seen from that side.

    ``needs_other`` says that there is no result without a row of the other side. ``joins_missing``
    says that a row of the other side has a result without a row of this side. All arguments are
    single answers, or arrays of them.
    """

    needs_other: bool
    joins_missing: bool

    @overload
    def has_result(self, has_this: bool, has_other: bool) -> bool: ...
    @overload
    def has_result(self, has_this: Mask, has_other: Mask) -> Mask: ...
    def has_result(self, has_this: Any, has_other: Any) -> Any:
        """Tell whether the joiner is called for what the two sides have."""
        alone = not self.needs_other
        return (has_this & (has_other | alone)) | (has_other & self.joins_missing)

    @overload
    def forwards(self, has_new: bool, has_old: bool, has_other: bool) -> bool: ...
    @overload
    def forwards(self, has_new: Mask, has_old: Mask, has_other: Mask) -> Mask: ...
    def forwards(self, has_new: Any, has_old: Any, has_other: Any) -> Any:
        """Tell whether a change is forwarded.

        If the other side has a row, there may have been a result, so even a change from nothing to
        nothing is.
        """
        return has_other | ((has_new | has_old) & (not self.needs_other))
