"""Which records without a key or without a value an operator takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

if TYPE_CHECKING:
    # A task that runs record at a time does not need numpy, which takes a while to import.
    import numpy as np
    from numpy.typing import NDArray

    Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NullRule:
    """Whether an operator takes a record without a key or a value; the others are dropped.

    Every operator takes a record that has both. So executors ask only about records that lack one.
    """

    drop_reason: str
    takes_null_key: bool = False
    takes_null_value: bool = False

    @overload
    def takes(self, has_key: bool, has_value: bool) -> bool: ...
    @overload
    def takes(self, has_key: Mask, has_value: Mask | bool) -> Mask: ...
    @overload
    def takes(self, has_key: bool, has_value: Mask) -> Mask: ...
    def takes(self, has_key: Any, has_value: Any) -> Any:
        """Tell whether the operator takes a record, or for arrays which of many records."""
        return (has_key | self.takes_null_key) & (has_value | self.takes_null_value)
