"""What is known of the members of values before the first record: a type, or the names of a schema.

Serdes return it as ``Serde.shape``. The DSL asks it about ``col("amount")``.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Annotated, Any, NewType, Protocol, Union, get_args, get_origin, is_typeddict

from penstock.serde.from_json import Hints, is_pydantic_model, member_types

_SCALARS = (str, int, float, bool, bytes)


class NoMemberError(LookupError):
    """A value never has this member. ``names`` are those that it has."""

    def __init__(self, of: str, names: tuple[str, ...]) -> None:
        super().__init__(of, names)
        self.of = of
        self.names = names


class Shape(Protocol):
    """What is known of the members of a value."""

    def member(self, name: Any) -> Shape | None:
        """Return what is known of a member; ``None`` means nothing.

        Raises:
            NoMemberError: if no value has this member.
        """


@dataclass(frozen=True, slots=True)
class NamedMembers:
    """An object of a schema. Members that it does not list do not exist."""

    of: str
    members: Mapping[str, Shape | None]

    def member(self, name: Any) -> Shape | None:
        if name in self.members:
            return self.members[name]
        raise NoMemberError(self.of, tuple(self.members))


@dataclass(frozen=True, slots=True)
class TypeShape:
    """Values of a declared Python type."""

    of: Any
    hints: Hints = field(default_factory=dict, compare=False)

    def member(self, name: Any) -> Shape | None:
        arms = _arms(self.of)
        if len(arms) != 1:
            return _member_of_any(arms, name, self.hints)
        declared = arms[0]
        if declared in _SCALARS:
            if isinstance(name, str) and hasattr(declared, name):
                return None
            raise NoMemberError(declared.__name__, ())
        names = _names(declared)
        if names is None or (isinstance(name, int) and hasattr(declared, "_fields")):
            return _element(declared, self.hints)
        if name in names:
            return _typed(declared, name, self.hints)
        if isinstance(name, str) and _is_attribute(declared, name):
            return None
        raise NoMemberError(declared.__name__, names)


def _arms(declared: Any) -> list[Any]:
    """Return the types that a value may have, without ``None``."""
    while isinstance(declared, NewType) or get_origin(declared) is Annotated:
        is_new = isinstance(declared, NewType)
        declared = declared.__supertype__ if is_new else get_args(declared)[0]
    if get_origin(declared) in (Union, types.UnionType):
        return [t for arm in get_args(declared) if arm is not type(None) for t in _arms(arm)]
    return [declared]


def _member_of_any(arms: list[Any], name: Any, hints: Hints) -> Shape | None:
    """Refuse a member that none of several types has."""
    missing: list[NoMemberError] = []
    for arm in arms:
        try:
            TypeShape(arm, hints).member(name)
        except NoMemberError as error:
            missing.append(error)
    if not arms or len(missing) < len(arms):
        return None
    names = dict.fromkeys(each for error in missing for each in error.names)
    raise NoMemberError(" | ".join(error.of for error in missing), tuple(names))


def _names(declared: Any) -> tuple[str, ...] | None:
    """Return the declared members of a class; ``None`` if values may have others."""
    if is_dataclass(declared):
        return tuple(each.name for each in fields(declared))
    if is_typeddict(declared):
        return tuple(declared.__annotations__)
    if is_pydantic_model(declared):
        if declared.model_config.get("extra") == "allow":
            return None
        return (*declared.model_fields, *declared.model_computed_fields)
    names = getattr(declared, "_fields", None)
    return names if isinstance(names, tuple) else None


def _element(declared: Any, hints: Hints) -> Shape | None:
    """Return what is known of the values of a dict or of the elements of a list."""
    args, origin = get_args(declared), get_origin(declared)
    if origin is dict and len(args) == 2:
        return TypeShape(args[1], hints)
    return TypeShape(args[0], hints) if origin is list and args else None


def _typed(declared: Any, name: str, hints: Hints) -> Shape | None:
    try:
        declared = member_types(declared, hints).get(name)
    except (NameError, TypeError):
        return None
    return None if declared is None else TypeShape(declared, hints)


def _is_attribute(declared: Any, name: str) -> bool:
    """Return whether values have the attribute though it is not declared as a member.

    It may be a property or a method, or code of the class may set it, as ``__post_init__`` does.
    """
    if is_typeddict(declared):
        return False
    # Every pydantic model has a ``__getattr__``, which knows declared members only.
    answers_any = hasattr(declared, "__getattr__") and not is_pydantic_model(declared)
    if answers_any or hasattr(declared, name):
        return True
    codes = (getattr(f, "__code__", None) for cls in declared.__mro__ for f in vars(cls).values())
    return any(name in (*code.co_names, *code.co_consts) for code in codes if code is not None)
