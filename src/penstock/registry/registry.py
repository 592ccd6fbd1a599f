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
    """What formats ask of a registry. Ids are unique, the same schema has one id everywhere."""

    def register(self, subject: str, schema: Schema) -> int:
        """Adds a version unless the subject has that schema already; gives the schema's id."""

    def lookup(self, subject: str, schema: Schema) -> RegisteredSchema | None:
        """Return the version of a subject that is this schema; None if there is none."""

    def by_id(self, schema_id: int) -> Schema:
        """Gives a schema; raises RegistryError ``unknown-schema`` if there is none."""

    def latest(self, subject: str) -> RegisteredSchema | None:
        """Gives a subject's newest version, None for an unknown subject."""

    def version(self, subject: str, version: int) -> RegisteredSchema | None:
        """Gives one version of a subject, None if there is none."""

    def subjects(self) -> list[str]:
        """Gives the names of all subjects, in order."""

    def delete(self, subject: str) -> list[int]:
        """Forgets a subject; gives the versions it had."""


class SchemaLog(Protocol):
    """An ordered log of records that several registries may share."""

    def change(self, decide: Callable[[], Iterable[LogRecord]]) -> None:
        """Adds the records that ``decide`` gives, and returns when they are kept.

        ``decide`` looks at all ``news`` first; nobody else adds anything between that and its own
        records. It may be called several times, and only the last one counts.
        """

    def news(self) -> Iterator[LogRecord]:
        """Gives the records since the last call, up to the end as it is now."""

    def close(self) -> None:
        """Lets go of what the log holds open."""


@dataclass(slots=True)
class MemoryLog:
    """A log in this process."""

    records: list[LogRecord] = field(default_factory=list)
    _read: int = field(default=0, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return MemoryLog, (self.records,)

    def change(self, decide: Callable[[], Iterable[LogRecord]]) -> None:
        # Those who share a list in one process hold no lock on it: they are tests.
        self.records.extend(decide())

    def news(self) -> Iterator[LogRecord]:
        while self._read < len(self.records):
            self._read += 1
            yield self.records[self._read - 1]

    def close(self) -> None:
        """Holds nothing."""


class LogRegistry:
    """A registry whose contents are a log. Safe to share between threads.

    Before every answer it reads what others have added in the meantime.
    """

    def __init__(self, log: SchemaLog) -> None:
        self._log, self._state, self._lock = log, RegistryState(), threading.RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy reads the log for itself.
        return LogRegistry, (self._log,)

    def state(self) -> RegistryState:
        """Gives the contents as they are now; not to be changed."""
        with self._lock:
            for key, value in self._log.news():
                self._state.apply(key, value)
            return self._state

    def register(self, subject: str, schema: Schema, schema_id: int | None = None) -> int:
        """Adds a version; ``schema_id`` asks for an id, as an import from elsewhere does."""
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
        """Forgets a subject or one version; ``permanent`` also forgets what was deleted before."""
        with self._lock:
            known = self.state().versions(subject, deleted=permanent)
            self._log.change(
                lambda: list(self.state().deletion(subject, version, permanent=permanent))
            )
            return [each.version for each in known if version in (None, each.version)]

    def close(self) -> None:
        self._log.close()


class MemoryRegistry(LogRegistry):
    """A registry inside this process. A pickled copy knows what was there by then."""

    def __init__(self) -> None:
        super().__init__(MemoryLog())
