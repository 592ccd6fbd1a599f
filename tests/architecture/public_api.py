"""The public API as text: every name that is promised, with its signature."""

import importlib
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any

from tests.architecture.source import ROOT

API_TEXT = ROOT / "tests" / "golden" / "public_api.txt"
MODULES = (
    "penstock",
    "penstock.client",
    "penstock.errors",
    "penstock.java",
    "penstock.query",
    "penstock.testing",
    "penstock.testing.strategies",
)


def public_api() -> str:
    """Gives one line per name, and one per public method of a class, module by module."""
    return "\n".join("\n".join(_module(name)) + "\n" for name in MODULES)


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"# {name}"
    for item in sorted(module.__all__):
        value = getattr(module, item)
        # A class that two modules list is described once, where it was promised first.
        if name != "penstock" and getattr(importlib.import_module("penstock"), item, None) is value:
            yield f"{item}: as in penstock"
        elif inspect.isclass(value):
            yield from _class(item, value)
        elif inspect.isroutine(value):
            yield f"def {item}{_signature(value)}"
        else:
            yield f"{item}: {type(value).__name__}"


def _class(name: str, cls: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    yield f"class {name}({bases}){_constructor(cls)}"
    for member, value in sorted(_members(cls).items()):
        kind = "static " if isinstance(value, staticmethod) else ""
        function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        if isinstance(value, property):
            yield f"  {member}: {_annotation(value)}"
        elif inspect.isroutine(function):
            yield f"  {kind}def {member}{_signature(function)}"
        else:
            yield f"  {member}: {type(value).__name__}"


def _members(cls: type) -> dict[str, Any]:
    """Public members, inherited ones too, unless they come from outside this package."""
    members: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith("penstock"):
            members |= {k: v for k, v in vars(each).items() if not k.startswith("_")}
    # Fields of a dataclass are in its constructor already.
    return {k: v for k, v in members.items() if not inspect.ismemberdescriptor(v)}


def _constructor(cls: type) -> str:
    # Nobody makes the member of an enumeration, and each Python shows another signature for it.
    if issubclass(cls, Enum) or ("__init__" not in vars(cls) and "__new__" not in vars(cls)):
        return ""
    try:
        return f" {_signature(cls)}"
    except ValueError:
        return ""


def _signature(value: Any) -> str:
    shown = str(inspect.signature(value)).replace("'", "").removesuffix(" -> None")
    # Before Python 3.14, types of a NamedTuple are shown inside of it.
    return re.sub(r"ForwardRef\(([^()]*)\)", r"\1", shown)


def _annotation(value: property) -> str:
    returned = inspect.signature(value.fget).return_annotation if value.fget else "?"
    return str(returned).replace("'", "")
