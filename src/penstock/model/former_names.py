"""Understands the former names of arguments and of attributes, and warns with the present ones.

There is one spelling of everything. Java's are in ``penstock.java``. Former names are in no
signature and no list of names; programs that were written with them go on.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Collection, Mapping
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
    """Decorate a function or a class: it, or its public methods, take former names, too."""
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
        for name in former.keys() & named.keys():
            present = former[name]
            if present in named:
                raise InvalidArgumentError(
                    "former-name",
                    f"{called}: the argument {name} is called {present}, which is given, too",
                    fix=f"leave {name}=… out",
                    at=caller_site(),
                )
            _warn(f"{called}: the argument {name} is called {present}", callers=2)
            named[present] = named.pop(name)
        return method(*given, **named)

    return call


def _warn(text: str, *, callers: int) -> None:
    """Warn with the line of the program, so many callers away."""
    warnings.warn(text, DeprecationWarning, stacklevel=callers + 1)


def renamed(target: Any, owner: str, name: str, known: Mapping[str, str]) -> Any:
    """Return an attribute by its present name, with a warning.

    Args:
        target: The object or class that has it.
        owner: The name of the class.
        name: The attribute that was asked for.
        known: The present names of former attributes.

    Raises:
        AttributeError: no attribute has that name; it says a similar one.
    """
    present = known.get(name)
    names = dir(target if isinstance(target, type) else type(target))
    if present is None:
        raise absent(owner, name, names)
    _warn(f"{owner}.{name} is called {owner}.{present}", callers=3)
    return getattr(target, present)


def moved_to_java(
    cls: type, name: str, known: Mapping[str, Callable[..., object]]
) -> Callable[..., object]:
    """Return what ``penstock.java`` has under the name of a former factory, with a warning.

    Raises:
        AttributeError: as ``renamed``.
    """
    if name not in known:
        raise absent(cls.__name__, name, dir(cls))
    _warn(
        f"{cls.__name__}.{name} is in penstock.java: from penstock.java import {cls.__name__}",
        callers=3,
    )
    return known[name]


def absent(owner: str, name: str, names: Collection[str]) -> AttributeError:
    """Return the error for an attribute that does not exist, with a similar one of these names."""
    near = get_close_matches(name, [each for each in names if each[:1] != "_"], n=1)
    hint = f": write {owner}.{near[0]}" if near else ""
    return AttributeError(f"{owner} has no attribute {name!r}{hint}")
