"""From declared types to readers of their JSON form. Writing: ``penstock.serde.to_json``."""

from __future__ import annotations

import types
from collections import abc
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site
from penstock.serde import json_readers as readers
from penstock.serde.json_readers import (
    PARSED,
    SCALARS,
    SEQUENCES,
    JsonShapeError,
    ObjectReader,
    Read,
)

#: The types of the members of each class, with names in quotes replaced by the types they name.
Hints = dict[Any, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Known:
    """Readers that are being built, so that a type may contain itself, and known hints."""

    hints: Hints
    readers: dict[Any, ObjectReader] = field(default_factory=dict)


def reader_for(declared: Any, hints: Hints | None = None) -> Read:
    """Return the function that turns parsed JSON into the declared type.

    Args:
        declared: the type.
        hints: the types of members as another process has found them; what is missing is found
            here and added. With ``from __future__ import annotations`` hints are text, which only
            the module of the class can explain. A worker on Spark does not have that module.

    Raises:
        InvalidArgumentError: if a part of the type has no JSON form.
    """
    return _reader(declared, Known({} if hints is None else hints))


def member_types(cls: Any, hints: Hints) -> dict[str, Any]:
    """Return the types of the members of a class, and note them in ``hints``."""
    if cls not in hints:
        hints[cls] = get_type_hints(cls)
    return hints[cls]


def _reader(declared: Any, known: Known) -> Read:
    if isinstance(declared, NewType):
        return _reader(declared.__supertype__, known)
    if declared in SCALARS:
        return SCALARS[declared]
    args, origin = get_args(declared), get_origin(declared) or declared
    if origin is Annotated:
        return _reader(args[0], known)
    if origin is Literal:
        return readers.literal(args)
    if origin in (Union, types.UnionType):
        return readers.union(args, [_reader(arm, known) for arm in args])
    if isinstance(origin, type):
        return _class_reader(origin, args, known)
    raise _unsupported(declared)


def _class_reader(cls: type, args: tuple[Any, ...], known: Known) -> Read:
    if cls in known.readers:
        return known.readers[cls]
    if is_pydantic_model(cls):
        return _pydantic(cls)
    if is_dataclass(cls) or is_typeddict(cls) or hasattr(cls, "_fields"):
        return _object(cls, known)
    if issubclass(cls, Enum):
        return readers.enum(cls)
    if cls is tuple and args and args[-1] is not Ellipsis:
        return readers.fixed_tuple([_reader(arg, known) for arg in args])
    first, second, *_ = (*args, Any, Any)
    if cls in (dict, abc.Mapping, abc.MutableMapping):
        return readers.mapping(_name_reader(first, known), _reader(second, known))
    if cls is tuple or cls in SEQUENCES:
        return readers.sequence(SEQUENCES.get(cls, tuple), _reader(first, known))
    raise _unsupported(cls)


def _name_reader(declared: Any, known: Known) -> Read:
    """Read a member name, which is always text, as a dict key of the declared type."""
    if declared is int:
        return readers.text(int, "an integer as name")
    if declared is float:
        return readers.text(float, "a number as name")
    if isinstance(declared, type) and issubclass(declared, Enum):
        return readers.enum_name(declared)
    return _reader(declared, known)


def _object(cls: Any, known: Known) -> ObjectReader:
    reader = ObjectReader(dict if is_typeddict(cls) else cls, cls.__name__)
    known.readers[cls] = reader
    try:
        hints = member_types(cls, known.hints)
    except NameError as error:
        raise InvalidArgumentError(
            "unknown-type-name",
            f"a type of {cls.__name__} cannot be found: {error}",
            fix="define the types that it names at the top level of its module",
            at=caller_site(),
        ) from None
    reader.members = tuple(
        (name, _exact(hints[name]), _reader(hints[name], known), is_required)
        for name, is_required in _members(cls).items()
    )
    return reader


def _exact(declared: Any) -> type | None:
    return declared if declared in PARSED else None


def _members(cls: Any) -> dict[str, bool]:
    """Return the member names in order; the value says whether the member is required."""
    if is_typeddict(cls):
        return {name: name in cls.__required_keys__ for name in cls.__annotations__}
    if not is_dataclass(cls):
        return {name: name not in cls._field_defaults for name in cls._fields}
    given = [member for member in fields(cls) if member.init]
    for member in given:
        if member.name.startswith("_"):
            raise InvalidArgumentError(
                "private-json-member",
                f"field {member.name!r} of {cls!r} would be missing from the JSON text",
                fix="give it a name without underscore, or declare it with field(init=False)",
                at=caller_site(),
            )
    return {
        each.name: each.default is MISSING and each.default_factory is MISSING for each in given
    }


def is_pydantic_model(declared: Any) -> bool:
    """Return whether a type is a pydantic model, without importing pydantic, which is optional."""
    return hasattr(declared, "__pydantic_validator__") and not is_dataclass(declared)


def _pydantic(model: Any) -> Read:
    def read(value: Any) -> Any:
        try:
            return model.model_validate(value)
        except ValueError as error:
            raise JsonShapeError(str(error)) from error

    return read


def _unsupported(declared: Any) -> InvalidArgumentError:
    return InvalidArgumentError(
        "unsupported-json-type",
        f"type {declared!r} has no JSON form",
        fix="use dataclasses, pydantic models, standard collections and standard scalars",
        at=caller_site(),
    )
