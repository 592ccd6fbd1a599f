"""Compares answers of a server with those of a case, as ksqlDB's own check does."""

from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from typing import Any


def row_mismatches(found: list[Any], wanted: list[Any], place: str, *, in_order: bool) -> list[str]:
    """Compare the answer to a query; rows come in any order, as in ksqlDB's own check."""
    if len(found) != len(wanted):
        return [f"{place}: {len(found)} parts, and not {len(wanted)}: {_shown(found)}"]
    problems = []
    rows, expected = Counter[str](), Counter[str]()
    for part, other in zip(found, wanted, strict=True):
        if not isinstance(part, dict):
            problems.append(f"{place}: {part!r} is no object")
        elif "row" in other:
            row, wanted_row = _canonical(part.get("row", part)), _canonical(other["row"])
            rows[row] += 1
            expected[wanted_row] += 1
            if in_order and row != wanted_row:
                problems.append(f"{place}: {row} stands where {wanted_row} belongs")
        else:
            problems += mismatches(part, other, place)
    missing, extra = expected - rows, rows - expected
    if missing or extra:
        problems.append(f"{place}: missing {sorted(missing)}, unexpected {sorted(extra)}")
    return problems


def mismatches(found: Any, wanted: Any, place: str) -> list[str]:
    """Compare what is expected; what is not mentioned may be anything."""
    problems = []
    for name, value in wanted.items():
        name, _, operator = name.partition("|")
        if not isinstance(found, dict) or name not in found:
            problems.append(f"{place}: no {name} in {_shown(found)}")
        elif isinstance(value, dict):
            problems += mismatches(found[name], value, f"{place}.{name}")
        elif operator == "starts_with":
            if not str(found[name]).startswith(value):
                problems.append(f"{place}.{name}: {found[name]!r} does not begin with {value!r}")
        elif _canonical(found[name]) != _canonical(value):
            problems.append(f"{place}.{name}: {found[name]!r}, and not {value!r}")
    return problems


def _canonical(value: Any) -> str:
    """Write values so that equal ones are equal texts: numbers by value, objects by name."""
    match value:
        case bool() | None | str():
            return json.dumps(value)
        case int() | Decimal() | float():
            number = Decimal(str(value)).normalize()
            return format(number, "f")
        case list():
            return f"[{', '.join(map(_canonical, value))}]"
        case dict():
            # A row that is no tombstone may say so, or say nothing.
            kept = {n: item for n, item in value.items() if n != "tombstone" or item}
            pairs = sorted((name, _canonical(item)) for name, item in kept.items())
            return f"{{{', '.join(f'{name}: {item}' for name, item in pairs)}}}"
        case _:
            return repr(value)


def _shown(value: Any) -> str:
    return f"{value!r:.500}"
