"""Random values. A generator returns one value per row and keeps no state.

All randomness comes from the caller's ``Random``, so the same seed produces the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True, slots=True)
class RowContext:
    """What a generator may use: the source of randomness, the number of the row and its time."""

    random: Random
    number: int
    time_ms: int


Generate = Callable[[RowContext], Any]


def counter(start: int = 1, step: int = 1, restart: int | None = None) -> Generate:
    """Generate the number of the row; after ``restart`` rows the numbers begin again."""

    def generate(row: RowContext) -> int:
        number = row.number if restart is None else row.number % restart
        return start + step * number

    return generate


def whole(least: int, most: int) -> Generate:
    """Generate a whole number from ``least`` to ``most``, both included."""
    return lambda row: row.random.randint(least, most)


def fraction(least: float, most: float, digits: int | None = None) -> Generate:
    """Generate a number between two others, rounded to ``digits``."""

    def generate(row: RowContext) -> float:
        value = row.random.uniform(least, most)
        return value if digits is None else round(value, digits)

    return generate


def choice(values: Sequence[Any], weights: Sequence[float] | None = None) -> Generate:
    """Generate one of some values; a value with twice the weight comes twice as often."""
    if weights is None:
        return lambda row: row.random.choice(values)
    return lambda row: row.random.choices(values, weights)[0]


def numbered(prefix: str, most: int) -> Generate:
    """Generate a text such as ``item-17``."""
    return lambda row: f"{prefix}{row.random.randint(1, most)}"


def boolean(odds: float = 0.5) -> Generate:
    return lambda row: row.random.random() < odds


def letters(least: int, most: int) -> Generate:
    """Generate a text of small letters."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"

    def generate(row: RowContext) -> str:
        return "".join(row.random.choices(alphabet, k=row.random.randint(least, most)))

    return generate


def random_bytes(least: int, most: int) -> Generate:
    return lambda row: row.random.randbytes(row.random.randint(least, most))


def row_time() -> Generate:
    """Generate the time of the row in milliseconds."""
    return lambda row: row.time_ms


def sometimes(generate: Generate, null_odds: float) -> Generate:
    """Generate a value, or None in some rows."""
    return lambda row: None if row.random.random() < null_odds else generate(row)


def listed(item: Generate, least: int, most: int) -> Generate:
    """Generate a list of values."""

    def generate(row: RowContext) -> list[Any]:
        return [item(row) for _ in range(row.random.randint(least, most))]

    return generate


def mapped(key: Generate, value: Generate, least: int, most: int) -> Generate:
    """Generate a map; it is smaller if the keys are not all different."""

    def generate(row: RowContext) -> dict[Any, Any]:
        return {key(row): value(row) for _ in range(row.random.randint(least, most))}

    return generate


def struct(fields: Mapping[str, Generate]) -> Generate:
    """Generate a struct with a value for each field."""
    return lambda row: {name: generate(row) for name, generate in fields.items()}


def subset(values: Sequence[Any], least: int, most: int) -> Generate:
    """Generate some of the values, each at most once."""
    return lambda row: row.random.sample(values, row.random.randint(least, most))
