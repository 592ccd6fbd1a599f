"""Every error class. Errors say what is wrong, where in the user's program, and what to do."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Self

__all__ = [
    "ConfigError",
    "DeserializationError",
    "InvalidArgumentError",
    "InvalidStateError",
    "MissingExtraError",
    "NullArgumentError",
    "PenstockError",
    "SerializationError",
    "StoreError",
    "StreamsError",
    "TaskMigratedError",
    "TopologyError",
    "UnavailableError",
    "UnknownStoreError",
    "UnsupportedOperationError",
]


class PenstockError(Exception):
    """An error with a stable ``code``, the values involved, the user's line and a fix.

    It takes plain positional arguments, so that it can be pickled and sent to another process.
    """

    def __init__(
        self, code: str, message: str, fix: str | None = None, at: str | None = None
    ) -> None:
        super().__init__(code, message, fix, at)
        self.code = code
        self.message = message
        self.fix = fix
        self.at = at

    def located(self, at: str | None) -> Self:
        """Return this error with a line of the user's program, unless it has one already."""
        if self.at is not None or at is None:
            return self
        return type(self)(self.code, self.message, self.fix, at)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.at:
            lines.append(f"  at:  {self.at}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class TopologyError(PenstockError):
    """The topology cannot be built: a name, a parent, a store or a topic is wrong."""


class StreamsError(PenstockError):
    """Processing failed: the record, the operator and the user's line are in the message."""


class ConfigError(PenstockError):
    """A setting is unknown, missing or has a wrong value."""


class MissingExtraError(ConfigError, ModuleNotFoundError):
    """A package is missing that only an extra brings; the fix has the command to install it."""


class SerializationError(StreamsError):
    """A value does not fit its serde, in either direction."""


class DeserializationError(SerializationError):
    """Bytes of a topic or of a store cannot be read by their serde."""


class TaskMigratedError(StreamsError):
    """Another instance has taken over the work of this one; this one has to start again."""


class UnavailableError(StreamsError):
    """Something that records need cannot be reached, such as a schema registry.

    It is not the fault of a record, so no exception handler is called.
    """


class InvalidArgumentError(PenstockError, ValueError):
    """An argument has a value that the operation cannot take."""


class NullArgumentError(InvalidArgumentError, TypeError):
    """A required argument is None, or a function that must return a value returned None."""


class InvalidStateError(PenstockError):
    """The call does not fit the state of the object, such as a closed store."""


class UnsupportedOperationError(PenstockError):
    """The object does not offer this operation."""


class StoreError(StreamsError):
    """A state store could not be opened, read or written."""


class UnknownStoreError(StreamsError):
    """No store of that name exists, or the processor is not connected to it."""


#: What Java calls some of them; ``penstock.java`` has these names.
_JAVA = {
    "DeserializationException": "DeserializationError",
    "SerdeException": "SerializationError",
    "TaskMigratedException": "TaskMigratedError",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        present = _JAVA.get(name)
        if present is None:
            raise AttributeError(f"penstock.errors has no attribute {name!r}")
        text = f"{name}: write {present}, or import {name} from penstock.java"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return globals()[present]
