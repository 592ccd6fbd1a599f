"""From objects of the user's classes to dicts and lists. Back: ``penstock.serde.from_json``."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """Return a value with dicts in place of dataclasses, named tuples and pydantic models.

    This is done at all levels.

    Dates, decimals and bytes stay what they are, sets become lists, enums their values.
    """
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, tuple):
        items = [plain(item) for item in value]
        names = getattr(value, "_fields", None)
        return items if names is None else dict(zip(names, items, strict=True))
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if hasattr(value, "__pydantic_serializer__"):
        return plain(value.model_dump(by_alias=True))
    return value
