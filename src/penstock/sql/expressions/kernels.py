"""Arrow kernels with the same results as the record path, including NULLs and overflow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.model.sql.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, ArrayType, SqlType

Kernel = Callable[..., Any]


def _known(kernel: Kernel) -> Kernel:
    """Make a comparison with NULL false instead of unknown."""
    return lambda left, right: pc.fill_null(kernel(left, right), False)


COMPARE_KERNELS: dict[str, Kernel] = {
    "=": _known(pc.equal),
    "<>": _known(pc.not_equal),
    "<": _known(pc.less),
    "<=": _known(pc.less_equal),
    ">": _known(pc.greater),
    ">=": _known(pc.greater_equal),
}
# The unchecked kernels wrap around, as Java does. Division would fail a whole batch because of one
# zero, and Arrow has no remainder, so the record path computes both.
NUMERIC_KERNELS: dict[str, Kernel] = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def _to(target: Any) -> Kernel:
    return lambda values: pc.cast(values, target, safe=False)


CAST_KERNELS: dict[tuple[SqlType, SqlType], Kernel] = {
    (INTEGER, BIGINT): _to(pa.int64()),
    (BIGINT, INTEGER): _to(pa.int32()),
    (INTEGER, DOUBLE): _to(pa.float64()),
    (BIGINT, DOUBLE): _to(pa.float64()),
    (INTEGER, STRING): _to(pa.string()),
    (BIGINT, STRING): _to(pa.string()),
    (BOOLEAN, STRING): _to(pa.string()),
}


@dataclass(frozen=True, slots=True)
class FunctionKernel:
    """A function over columns; if ``type`` is None, its result has the type of its arguments."""

    function: Kernel
    type: SqlType | None = None
    least: int = 1
    most: int | None = 1

    def takes(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)


def _concat(*texts: Any) -> Any:
    return pc.binary_join_element_wise(*texts, "", null_handling="skip")


def _split(texts: Any, delimiter: Any) -> Any:
    # An empty delimiter splits after every character, and Arrow takes one delimiter for all rows.
    if not isinstance(delimiter, pa.Scalar) or not delimiter.as_py():
        raise pa.ArrowInvalid("Arrow cannot split at this")
    return pc.split_pattern(texts, delimiter.as_py())


_SIMPLE = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING)

FUNCTION_KERNELS: dict[tuple[str, SqlType], FunctionKernel] = {
    ("LEN", STRING): FunctionKernel(pc.utf8_length, INTEGER),
    ("SPLIT", STRING): FunctionKernel(_split, ArrayType(STRING), least=2, most=2),
    ("CONCAT", STRING): FunctionKernel(_concat, STRING, most=None),
    **{("COALESCE", t): FunctionKernel(pc.coalesce, most=None) for t in _SIMPLE},
    **{("IFNULL", t): FunctionKernel(pc.coalesce, least=2, most=2) for t in _SIMPLE},
    **{("ABS", t): FunctionKernel(pc.abs) for t in (INTEGER, BIGINT, DOUBLE)},
}
