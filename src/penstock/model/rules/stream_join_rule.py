"""What the join of two streams decides about a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from penstock.model.rules.drop_reasons import NULL_KEY_OR_VALUE
from penstock.model.rules.null_rule import NullRule
from penstock.model.windows.definitions import JoinWindows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Times: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StreamJoinRule:
    """How one side of the join sees its records and those of the other side.

    A record at ``t`` finds partners from ``t - before_ms`` to ``t + after_ms``. A record without a
    partner waits: one of the left side for ``left_open_ms``, one of the right side for
    ``right_open_ms``. ``is_outer`` says that this side's records are emitted without a partner,
    too.
    """

    before_ms: int
    after_ms: int
    left_open_ms: int
    right_open_ms: int
    retention_ms: int
    is_outer: bool

    @staticmethod
    def of(windows: JoinWindows, *, is_left: bool = True, is_outer: bool = False) -> StreamJoinRule:
        """Return the rule of one side. The windows are given as the left side sees them."""
        before_ms, after_ms, grace_ms = windows.before_ms, windows.after_ms, windows.grace_ms
        return StreamJoinRule(
            before_ms=before_ms if is_left else after_ms,
            after_ms=after_ms if is_left else before_ms,
            left_open_ms=after_ms + grace_ms,
            right_open_ms=before_ms + grace_ms,
            retention_ms=windows.size_ms + grace_ms,
            is_outer=is_outer,
        )

    @property
    def nulls(self) -> NullRule:
        """Which nulls are taken: a null key has no partner, but an outer side emits the record."""
        return NullRule(NULL_KEY_OR_VALUE, takes_null_key=self.is_outer)

    @overload
    def partners(self, timestamp: int) -> tuple[int, int]: ...
    @overload
    def partners(self, timestamp: Times) -> tuple[Times, Times]: ...
    def partners(self, timestamp: Any) -> Any:
        """Return the first and the last timestamp that a partner of this side's record may have."""
        first, last = timestamp - self.before_ms, timestamp + self.after_ms
        # No timestamp is negative. The product takes numbers and arrays.
        return first * (first > 0), last * (last > 0)

    @overload
    def result_time(self, timestamp: int, other: int) -> int: ...
    @overload
    def result_time(self, timestamp: Times, other: Times) -> Times: ...
    def result_time(self, timestamp: Any, other: Any) -> Any:
        """Return the timestamp of two joined records: the later one."""
        return timestamp + (other - timestamp) * (other > timestamp)

    def waits(self, last_partner: int, stream_time: int) -> bool:
        """Tell whether a record without a partner has to wait for one, without the grace period.

        If stream time has passed the last timestamp of a partner, the record is emitted at once.
        """
        return last_partner >= stream_time

    def is_open(self, timestamp: int, stream_time: int, *, of_left: bool) -> bool:
        """Tell whether a waiting record of either side may still find a partner."""
        open_ms = self.left_open_ms if of_left else self.right_open_ms
        return timestamp + open_ms >= stream_time

    def is_kept(self, timestamp: int, stream_time: int) -> bool:
        """Tell whether a window store still takes a record of this age.

        In a self-join, a record that the store would not take is not its own partner.
        """
        return timestamp > stream_time - self.retention_ms + 1
