"""Schema registries: subjects with versions, ids for schemas. Over HTTP: ``http_registry``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.registry.registry_state import LogRecord, RegistryState, schema_record
from penstock.registry.schemas import (
    RegisteredSchema,
    RegistryError,
    Schema,
    SchemaKind,
    SchemaReference,
    subject_of,
    unknown_schema,
)

__all__ = [
    "LogRegistry",
    "MemoryLog",
    "MemoryRegistry",
    "RegisteredSchema",
    "RegistryError",
    "Schema",
    "SchemaKind",
    "SchemaLog",
    "SchemaReference",
    "SchemaRegistry",
    "subject_of",
    "unknown_schema",
]


class SchemaRegistry(Protocol):
    """What formats need from a registry. Ids are unique; the same schema has one id everywhere."""

    def register(self, subject: str, schema: Schema) -> int:
        """Add a version unless the subject has that schema already, and return the schema's id."""

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        """Return the version of a subject that is this schema; None if there is none."""

    def by_id(self, schema_id: int) -> Schema:
        """Return a schema; raise RegistryError ``unknown-schema`` if there is none."""

    def latest(self, subject: str) -> RegisteredSchema | None:
        """Return a subject's newest version, None for an unknown subject."""

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        """Return one version of a subject, None if there is none."""

    def subjects(self) -> list[str]:
        """Return the names of all subjects, in order."""

    def delete(self, subject: str) -> list[int]:
        """Delete a subject, and return the versions it had."""


class SchemaLog(Protocol):
    """An ordered log of records that several registries may share."""

    def change(self, decide: Callable[[], Iterable[LogRecord]]) -> None:
        """Add the records that ``decide`` returns; return when they are stored.

        ``decide`` reads all ``news`` first. No other process adds a record between that and its
        own records. It may be called several times; only the records of the last call are added.
        """

    def news(self) -> Iterator[LogRecord]:
        """Return the records that were added since the last call."""

    def close(self) -> None:
        """Close the connections of the log."""


@dataclass(slots=True)
class MemoryLog:
    """A log in this process."""

    records: list[LogRecord] = field(default_factory=list)
    _read: int = field(default=0, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return MemoryLog, (self.records,)

    def change(self, decide: Callable[[], Iterable[LogRecord]]) -> None:
        # No lock: only tests share a list between registries.
        self.records.extend(decide())

    def news(self) -> Iterator[LogRecord]:
        while self._read < len(self.records):
            self._read += 1
            yield self.records[self._read - 1]

    def close(self) -> None:
        """Do nothing: the log has no connections."""


class LogRegistry:
    """A registry whose contents are in a log. Threads may share it.

    Before every answer it reads what other processes have added.
    """

    def __init__(self, log: SchemaLog) -> None:
        self._log, self._state, self._lock = log, RegistryState(), threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy reads the log from the start.
        return LogRegistry, (self._log,)

    def state(self) -> RegistryState:
        """Return the current contents. The caller must not change them."""
        with self._lock:
            for key, value in self._log.news():
                self._state.apply(key, value)
            return self._state

    def register(self, subject: str, schema: Schema, schema_id: int | None = None) -> int:
        """Add a version. ``schema_id`` asks for that id, as for a schema of another registry."""
        with self._lock:
            known = self._registered(subject, schema, schema_id)
            if known is None:
                self._log.change(lambda: self._registration(subject, schema, schema_id))
                known = self._registered(subject, schema, schema_id)
        assert known is not None
        return known

    def _registered(self, subject: str, schema: Schema, schema_id: int | None) -> int | None:
        found = self.state().same(subject, schema)
        return found.id if found and schema_id in (None, found.id) else None

    def _registration(self, subject: str, schema: Schema, schema_id: int | None) -> list[LogRecord]:
        if self._registered(subject, schema, schema_id) is not None:
            return []
        return [schema_record(self.state().registration(subject, schema, schema_id))]

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        return self.state().same(subject, schema)

    def by_id(self, schema_id: int) -> Schema:
        return self.state().by_id(schema_id)

    def latest(self, subject: str) -> RegisteredSchema | None:
        versions = self.state().versions(subject)
        return versions[-1] if versions else None

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        known = self.state().versions(subject, deleted=True)
        return next((each for each in known if each.version == version), None)

    def subjects(self) -> list[str]:
        return self.state().subjects()

    def delete(
        self, subject: str, version: int | None = None, *, permanent: bool = False
    ) -> list[int]:
        """Delete a subject or one version. ``permanent`` also removes versions deleted before."""
        with self._lock:
            known = self.state().versions(subject, deleted=permanent)
            self._log.change(
                lambda: list(self.state().deletion(subject, version, permanent=permanent))
            )
            return [each.version for each in known if version in (None, each.version)]

    def close(self) -> None:
        self._log.close()


class MemoryRegistry(LogRegistry):
    """A registry in this process. A pickled copy has the schemas of that moment."""

    def __init__(self) -> None:
        super().__init__(MemoryLog())
