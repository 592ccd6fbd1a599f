"""Aggregates of statistics: correlation and deviations of samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from penstock.model.java import divide_doubles
from penstock.model.sql.types import BIGINT, DOUBLE, Field, StructType
from penstock.sql.functions.declare import aggregate
from penstock.sql.functions.registry import Aggregator, Settings

_NUMBERS = ("INTEGER", "BIGINT", "DOUBLE")
_SUMS = ("SUM_X", "SUM_Y", "SUM_XX", "SUM_YY", "SUM_XY")
_PAIRS = StructType((Field("COUNT", BIGINT), *(Field(name, DOUBLE) for name in _SUMS)))
_SAMPLE = StructType((Field("COUNT", BIGINT), Field("SUM", DOUBLE), Field("M2", DOUBLE)))


@aggregate("CORRELATION", *(f"{t}, {t} -> DOUBLE" for t in _NUMBERS))
def correlation(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return Pearson's correlation of two columns; rows with a NULL are left out."""

    def moved(state: dict[str, Any], x: Any, y: Any, by: int) -> dict[str, Any]:
        if x is None or y is None:
            return state
        x, y = float(x), float(y)
        steps = (x, y, x * x, y * y, x * y)
        sums = {n: state[n] + by * step for n, step in zip(_SUMS, steps, strict=True)}
        return {"COUNT": state["COUNT"] + by, **sums}

    def result(state: dict[str, Any]) -> float:
        n, x, y, xx, yy, xy = (state[name] for name in ("COUNT", *_SUMS))
        spread = math.sqrt(max(0.0, (n * xx - x * x) * (n * yy - y * y)))
        return divide_doubles(n * xy - x * y, spread) if spread else math.nan

    return Aggregator(
        lambda: {"COUNT": 0, **dict.fromkeys(_SUMS, 0.0)},
        lambda state, x, y: moved(state, x, y, 1),
        lambda a, b: {name: a[name] + b[name] for name in a},
        result,
        _PAIRS,
        DOUBLE,
        lambda state, x, y: moved(state, x, y, -1),
    )


def _add(state: dict[str, Any], value: Any) -> dict[str, Any]:
    if value is None:
        return state
    count, total = state["COUNT"] + 1, state["SUM"] + value
    growth = (count * value - total) ** 2 / (count * (count - 1)) if count > 1 else 0.0
    return {"COUNT": count, "SUM": total, "M2": state["M2"] + growth}


def _undo(state: dict[str, Any], value: Any) -> dict[str, Any]:
    if value is None or not state["COUNT"]:
        return state
    count, total = state["COUNT"], state["SUM"]
    growth = (count * value - total) ** 2 / (count * (count - 1)) if count > 1 else 0.0
    return {"COUNT": count - 1, "SUM": total - value, "M2": state["M2"] - growth}


def _merge(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    n, m = a["COUNT"], b["COUNT"]
    if not n or not m:
        return a if n else b
    across = (m / n * a["SUM"] - b["SUM"]) ** 2 * n / (m * (n + m))
    return {"COUNT": n + m, "SUM": a["SUM"] + b["SUM"], "M2": a["M2"] + b["M2"] + across}


def _variance(state: dict[str, Any]) -> float:
    return float(state["M2"] / (state["COUNT"] - 1)) if state["COUNT"] > 1 else 0.0


def _deviation(state: dict[str, Any]) -> float:
    return math.sqrt(_variance(state))


def _start() -> dict[str, Any]:
    return {"COUNT": 0, "SUM": 0.0, "M2": 0.0}


@aggregate("STDDEV_SAMP", *(f"{t} -> DOUBLE" for t in _NUMBERS))
def stddev_samp(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return the variance of a sample: ksqlDB's old name; see STDDEV_SAMPLE."""
    return Aggregator(_start, _add, _merge, _variance, _SAMPLE, DOUBLE, _undo)


@aggregate("STDDEV_SAMPLE", *(f"{t} -> DOUBLE" for t in _NUMBERS))
def stddev_sample(types: Sequence[Any], _: Sequence[Any], __: Settings) -> Aggregator:
    """Return the standard deviation of a sample."""
    return Aggregator(_start, _add, _merge, _deviation, _SAMPLE, DOUBLE, _undo)
