"""Which declared types run the user's code when a value is created."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_args, is_typeddict

from penstock.serde.from_json import Hints, is_pydantic_model, member_types

#: Factories that create something empty and run no code of the user.
_PLAIN_FACTORIES = (MISSING, list, dict, set, frozenset, tuple)


def runs_own_code(declared: Any, hints: Hints | None = None) -> bool:
    """Return whether creating a value, or one inside it, may call a function of the user."""
    return _runs(declared, set(), {} if hints is None else hints)


def _runs(declared: Any, seen: set[Any], hints: Hints) -> bool:
    if any(_runs(argument, seen, hints) for argument in get_args(declared)):
        return True
    declared = getattr(declared, "__supertype__", declared)
    if not isinstance(declared, type) or declared in seen:
        return False
    seen.add(declared)
    if is_dataclass(declared):
        return _is_made_by_code(declared) or _members_run(declared, seen, hints)
    if is_typeddict(declared):
        return _members_run(declared, seen, hints)
    if hasattr(declared, "_fields"):
        # A subclass of a named tuple may have its own constructor.
        return declared.__bases__ != (tuple,) or _members_run(declared, seen, hints)
    # Pydantic models have validators.
    return is_pydantic_model(declared)


def _is_made_by_code(cls: Any) -> bool:
    return (
        hasattr(cls, "__post_init__")
        or not cls.__dataclass_params__.init
        or cls.__new__ is not object.__new__
        or any(member.default_factory not in _PLAIN_FACTORIES for member in fields(cls))
    )


def _members_run(cls: Any, seen: set[Any], hints: Hints) -> bool:
    return any(_runs(hint, seen, hints) for hint in member_types(cls, hints).values())
