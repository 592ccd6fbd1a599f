"""Names of processors and stores: generated with one counter, or given by the user and checked.

Java numbers all processors, stores and repartitions of a program with one counter. It also takes a
number if the user gives a name. Topics and folders have these names, so the order of the numbers
must be the same here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from penstock.errors import NullArgumentError, TopologyError
from penstock.model.site import caller_site

_MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]*")
_GENERATED = re.compile(r"KSTREAM.*-[0-9]{10}")


@dataclass(frozen=True, slots=True)
class Named:
    """The name of a processor. A plain string can be used instead."""

    name: str

    def __post_init__(self) -> None:
        if self.name is None:
            raise NullArgumentError("missing-name", "the name is None", at=caller_site())
        check_name(self.name)

    @staticmethod
    def as_(name: str) -> Named:
        """Return a name for a node."""
        return Named(name)

    def with_name(self, name: str) -> Named:
        """Return another name."""
        return replace(self, name=name)


def check_name(name: str) -> str:
    """Return the name; raise TopologyError if it cannot be part of a topic's name."""
    problem = _problem(name)
    if problem:
        raise TopologyError(
            "bad-name",
            f"name {name!r} {problem}",
            fix=f"use 1 to {_MAX_LENGTH} ASCII letters, digits, '.', '_' and '-'",
            at=caller_site(),
        )
    return name


def _problem(name: object) -> str | None:
    if not isinstance(name, str):
        return "is not text"
    if not name:
        return "is empty"
    if name in (".", ".."):
        return "has a meaning of its own in directories"
    if len(name) > _MAX_LENGTH:
        return f"is longer than {_MAX_LENGTH} characters"
    if not _LEGAL.fullmatch(name):
        return "contains a character other than ASCII letters, digits, '.', '_' and '-'"
    return None


def name_of(name: str | Named | None) -> str | None:
    """Return the checked name as text."""
    if isinstance(name, Named):
        return name.name
    return None if name is None else check_name(name)


def is_generated(name: str) -> bool:
    """Return whether a name is generated. Then parts of a repartition are numbered, too."""
    return _GENERATED.fullmatch(name) is not None


@dataclass(slots=True)
class Names:
    """The counter. Every method takes the next number, also if the name does not contain it."""

    next_number: int = 0

    def new_processor_name(self, prefix: str) -> str:
        return f"{prefix}{self._take():010d}"

    def new_store_name(self, prefix: str) -> str:
        return f"{prefix}STATE-STORE-{self._take():010d}"

    def given_or_new(self, given: str | None, prefix: str) -> str:
        """Return the user's name, or a generated one. Both take a number."""
        generated = self.new_processor_name(prefix)
        return generated if given is None else check_name(given)

    def suffixed_or_new(self, given: str | None, suffix: str, prefix: str) -> str:
        """Return the user's name with a suffix, or a generated one. Both take a number."""
        generated = self.new_processor_name(prefix)
        return generated if given is None else check_name(given + suffix)

    def _take(self) -> int:
        number = self.next_number
        self.next_number += 1
        return number
