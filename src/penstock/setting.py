"""What a setting is, and how its value is read. Which settings there are: ``penstock.config``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from penstock.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting(Generic[T]):
    """One setting. ``parse`` turns what the user gave into ``T`` or raises ValueError."""

    name: str
    parse: Callable[[Any], T]
    default: T
    doc: str
    #: Why an application on Spark does without it; empty for settings that have an effect.
    unused: str = ""
    #: The setting of which this is an older name.
    newer: Setting[T] | None = None
    #: Whether the value is a secret, which no error and no log may show.
    is_secret: bool = False

    def parsed(self, value: Any) -> T:
        """Return the typed value.

        Raises:
            ConfigError: ``bad-setting``, with what the value has to be.
        """
        try:
            return self.parse(value)
        except (ValueError, TypeError) as error:
            shown = "what was given" if self.is_secret else repr(value)
            leave = "" if self.default == "" else f"leave it out for {self.default!r}, or "
            raise ConfigError(
                "bad-setting",
                f"setting {self.name!r} cannot be {shown}: {error}",
                fix=f"{leave}give what it means:"
                f" {self.doc[0].lower()}{self.doc[1:].removesuffix('.')}",
            ) from (None if self.is_secret else error)

    def value_in(self, configs: Mapping[str, Any]) -> T:
        """Return the typed value among given settings, or the default if it is not there."""
        given = configs.get(self.name)
        return self.default if given is None else self.parsed(given)


def older_name(name: str, newer: Setting[T]) -> Setting[T]:
    """Return the setting that an older name stands for."""
    doc = f"Older name of {newer.name}, which wins."
    return Setting(name, newer.parse, newer.default, doc, newer=newer)


def integer(value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError("a whole number is needed")
    try:
        return int(value)
    except ValueError:
        raise ValueError("a whole number is needed") from None


def at_least(least: int) -> Callable[[Any], int]:
    def parse(value: Any) -> int:
        number = integer(value)
        if number < least:
            raise ValueError(f"at least {least} is needed")
        return number

    return parse


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text is needed")
    return value


def part_of_topics(value: Any) -> str:
    """Return text that names of topics may begin with."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", text(value)):
        raise ValueError("letters, digits, dots, dashes and underscores are needed")
    return text(value)


def optional_text(value: Any) -> str | None:
    return None if value is None else text(value)


def boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ValueError("true or false is needed")


def anything(value: Any) -> Any:
    return value


def one_of(*choices: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)} is needed")
        return str(value)

    return parse


def guarantee(value: Any) -> str:
    if value in ("exactly_once", "exactly_once_beta"):
        raise ValueError("this older guarantee was removed; use exactly_once_v2")
    return one_of("at_least_once", "exactly_once_v2")(value)


def host_and_port(value: Any) -> str:
    host, _, port = text(value).rpartition(":")
    if value and not (host and port.isdigit()):
        raise ValueError("host:port is needed")
    return str(value)


def texts(value: Any) -> tuple[str, ...]:
    """Read a list of texts, or one text with commas between them."""
    given = value.split(",") if isinstance(value, str) else value
    if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
        raise ValueError("a list of texts is needed")
    found = tuple(each.strip() for each in given)
    if not all(found):
        raise ValueError("texts that are not empty are needed")
    return found


def few_texts(most: int) -> Callable[[Any], tuple[str, ...]]:
    """Read at most so many texts; none at all from an empty text."""

    def parse(value: Any) -> tuple[str, ...]:
        found = () if value == "" else texts(value)
        if len(found) > most:
            raise ValueError(f"at most {most} texts are allowed")
        return found

    return parse


def pairs(value: Any) -> tuple[tuple[str, str], ...]:
    """Read a dictionary of texts, or ``name:text,name:text``."""
    if not isinstance(value, Mapping):
        split = [each.partition(":") for each in texts(value)]
        if not all(colon for _, colon, _ in split):
            raise ValueError("name:password is needed")
        value = {name: word for name, _, word in split}
    if not all(isinstance(each, str) and each for pair in value.items() for each in pair):
        raise ValueError("names and passwords that are not empty are needed")
    return tuple(value.items())
