"""Refuses the former names of arguments and of attributes, and says the present ones.

There is one spelling of everything. Java's are in ``penstock.java``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeVar, cast

from penstock.errors import InvalidArgumentError
from penstock.model.site import caller_site

_Owner = TypeVar("_Owner", bound=Callable[..., Any])

#: Serdes are called as what they write, the only function of an operator is ``fn``.
ARGUMENTS = {
    "key_serde": "key",
    "value_serde": "value",
    "other_value_serde": "other_value",
    "id_serde": "id",
    "key_selector": "key",
    "number_of_partitions": "num_partitions",
    "partitions": "num_partitions",
    **dict.fromkeys(
        (
            "aggregator",
            "function",
            "id_selector",
            "key_mapper",
            "mapper",
            "predicate",
            "reducer",
            "selector",
        ),
        "fn",
    ),
}


def one_spelling(cls: _Owner) -> _Owner:
    """Decorate a function or a class: it, or its public methods, refuse former names."""
    if not isinstance(cls, type):
        return cast(_Owner, _checked(cls, cls.__name__, _former_names(cls)))
    for name, member in list(vars(cls).items()):
        is_static = isinstance(member, staticmethod)
        method = member.__func__ if is_static else member
        if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
            former = _former_names(method)
            if former:
                called = cls.__name__ if name == "__init__" else name
                checked = _checked(method, called, former)
                setattr(cls, name, staticmethod(checked) if is_static else checked)
    return cls


def _former_names(method: Callable[..., Any]) -> dict[str, str]:
    parameters = inspect.signature(method).parameters
    return {
        former: present
        for former, present in ARGUMENTS.items()
        if present in parameters and former not in parameters
    }


def _checked(
    method: Callable[..., Any], called: str, former: Mapping[str, str]
) -> Callable[..., Any]:
    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        for name in named:
            if name in former:
                raise InvalidArgumentError(
                    "former-name",
                    f"{called}: the argument {name} is called {former[name]}",
                    fix=f"write {former[name]}=… instead of {name}=…",
                    at=caller_site(),
                )
        return method(*given, **named)

    return call


def absent(owner: str, name: str, known: Mapping[str, str], names: list[str]) -> AttributeError:
    """Return the error for an attribute that does not exist, with the name that does.

    Args:
        owner: The name of the class.
        name: The attribute that was asked for.
        known: The present names of former attributes.
        names: All names of the class, for misspelled ones.
    """
    near = get_close_matches(name, [each for each in names if each[:1] != "_"], n=1)
    meant = known.get(name) or (near[0] if near else None)
    hint = f": write {owner}.{meant}" if meant else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")
