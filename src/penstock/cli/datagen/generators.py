"""Values at random: each generator is asked for row after row and has no other state.

All randomness comes from the ``Random`` that the caller hands in, so a seed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True, slots=True)
class RowContext:
    """What a generator may look at: the randomness, the number of the row and its time."""

    random: Random
    number: int
    time_ms: int


Generate = Callable[[RowContext], Any]


def counter(start: int = 1, step: int = 1, restart: int | None = None) -> Generate:
    """Count rows; from ``restart`` on it begins anew."""

    def generate(row: RowContext) -> int:
        number = row.number if restart is None else row.number % restart
        return start + step * number

    return generate


def whole(least: int, most: int) -> Generate:
    """A whole number from ``least`` to ``most``, both included."""
    return lambda row: row.random.randint(least, most)


def fraction(least: float, most: float, digits: int | None = None) -> Generate:
    """A number between two others, rounded to ``digits``."""

    def generate(row: RowContext) -> float:
        value = row.random.uniform(least, most)
        return value if digits is None else round(value, digits)

    return generate


def choice(values: Sequence[Any], weights: Sequence[float] | None = None) -> Generate:
    """One of some values; a value with twice the weight comes twice as often."""
    if weights is None:
        return lambda row: row.random.choice(values)
    return lambda row: row.random.choices(values, weights)[0]


def numbered(prefix: str, most: int) -> Generate:
    """A text such as ``item-17``."""
    return lambda row: f"{prefix}{row.random.randint(1, most)}"


def boolean(odds: float = 0.5) -> Generate:
    return lambda row: row.random.random() < odds


def letters(least: int, most: int) -> Generate:
    """A text of small letters."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"

    def generate(row: RowContext) -> str:
        return "".join(row.random.choices(alphabet, k=row.random.randint(least, most)))

    return generate


def random_bytes(least: int, most: int) -> Generate:
    return lambda row: row.random.randbytes(row.random.randint(least, most))


def row_time() -> Generate:
    """The time of the row in milliseconds."""
    return lambda row: row.time_ms


def sometimes(generate: Generate, null_odds: float) -> Generate:
    """A value, or None in some rows."""
    return lambda row: None if row.random.random() < null_odds else generate(row)


def listed(item: Generate, least: int, most: int) -> Generate:
    """A list of values."""

    def generate(row: RowContext) -> list[Any]:
        return [item(row) for _ in range(row.random.randint(least, most))]

    return generate


def mapped(key: Generate, value: Generate, least: int, most: int) -> Generate:
    """A map; equal keys make it smaller."""

    def generate(row: RowContext) -> dict[Any, Any]:
        return {key(row): value(row) for _ in range(row.random.randint(least, most))}

    return generate


def struct(fields: Mapping[str, Generate]) -> Generate:
    """A struct with a value for each field."""
    return lambda row: {name: generate(row) for name, generate in fields.items()}


def subset(values: Sequence[Any], least: int, most: int) -> Generate:
    """Some of the values, each at most once."""
    return lambda row: row.random.sample(values, row.random.randint(least, most))
