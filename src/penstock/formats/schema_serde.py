"""What the serdes with a schema registry share: settings, subjects, and the bytes before a payload.

The serdes: ``avro.avro_serde``, ``json.json_schema_serde``, ``protobuf.protobuf_serde``. The rows
of SQL have serdes of their own: ``penstock.formats.rows``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, TypeVar

from penstock.errors import InvalidArgumentError, SerializationError
from penstock.formats.registered import MAGIC, PREFIX_SIZE, Imports, imports_of, schema_id_of
from penstock.formats.subjects import strategy_in
from penstock.model.record import Headers
from penstock.model.site import caller_site
from penstock.registry.registries import registry_of
from penstock.registry.registry import (
    RegistryError,
    Schema,
    SchemaKind,
    SchemaReference,
    SchemaRegistry,
)
from penstock.registry.schemas import RegistryUnavailableError
from penstock.serde.base import Serde, SerdeDefaults
from penstock.settings.schema_registry import AUTO_REGISTER, USE_LATEST

T = TypeVar("T")

Read = Callable[[bytes], Any]
Write = Callable[[Any], bytes]


class SchemaCodec(Protocol):
    """One schema, or none, in its language: how values become payloads and back.

    A payload is what follows the id of the schema in a record.
    """

    def own(self, refer: Callable[[str, Schema], SchemaReference]) -> Schema | None:
        """Return the schema to write with; None leaves it to the registry.

        ``refer`` is called for every schema that it imports, with the name it imports it by.
        """

    def record_name(self, schema: Schema, imports: Imports) -> str | None:
        """Return the full name of what a schema describes; None if it has no name."""

    def reader(self, schema: Schema, imports: Imports) -> Read:
        """Return the function that reads payloads that were written with a schema.

        The function raises ValueError for a payload that does not fit.
        """

    def writer(self, schema: Schema, imports: Imports) -> Write:
        """Return the function that writes payloads of a schema.

        The function raises TypeError for a value of the wrong class and ValueError for one whose
        parts do not fit.
        """


class SchemaSerde(Serde[T]):
    """A serde whose records begin with the id of a schema in a registry.

    The bytes are those of Confluent's serializers: a zero byte, four bytes of id, the payload. A
    record is read by the schema it was written with. Everything that depends on a schema is made
    once, when the first record needs it.

    Settings come from the application that uses the serde. ``config`` overrides them for this
    serde alone.
    """

    kind: SchemaKind

    def __init__(self, config: Mapping[str, Any] | None = None, *, is_key: bool = False) -> None:
        self._config = dict(config or {})
        self._settings = self._config
        self._is_key = is_key
        self._forget()
        try:
            self._codec = self._new_codec()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InvalidArgumentError(
                "bad-schema",
                f"{type(self).__name__} cannot use its schema: {error}",
                fix=f"give a schema in the language of {self.kind}",
                at=caller_site(),
            ) from error

    def _forget(self) -> None:
        self._readers: dict[int, Read] = {}
        self._writers: dict[str, Write] = {}
        self._known_registry: SchemaRegistry | None = None

    @abstractmethod
    def _arguments(self) -> tuple[Any, ...]:
        """Return what the serde was made from: equal arguments make equal serdes."""

    @abstractmethod
    def _new_codec(self) -> SchemaCodec:
        """Parse the schema."""

    # Values

    def serialize(self, topic: str, value: T | None, headers: Headers = ()) -> bytes | None:
        if value is None:
            return None
        write = self._writers.get(topic)
        if write is None:
            write = self._writers[topic] = self._new_writer(topic)
        return write(value)

    def encode(self, value: T) -> bytes:
        """Refuse: without a topic there is no subject for the schema. Use ``serialize``."""
        raise TypeError(f"{type(self).__name__} needs a topic: call serialize(topic, value)")

    def decode(self, data: bytes) -> T:
        schema_id = schema_id_of(data)
        read = self._readers.get(schema_id)
        if read is None:
            read = self._readers[schema_id] = self._new_reader(schema_id)
        value: T = read(data[PREFIX_SIZE:])
        return value

    # What the application decides

    def with_defaults(self, defaults: SerdeDefaults) -> Self:
        return self._copy({**defaults.configs, **self._config}, is_key=defaults.is_key)

    def configure(self, configs: Mapping[str, Any], is_key: bool = False) -> Self:
        """Return this serde with settings, for use outside of an application.

        Args:
            configs: such as ``schema.registry.url``; those of the serde itself win.
            is_key: whether the serde is for keys, which have subjects of their own.
        """
        return self._copy({**configs, **self._config}, is_key=is_key)

    def _copy(self, settings: dict[str, Any], *, is_key: bool) -> Self:
        made = object.__new__(type(self))
        vars(made).update(vars(self))
        made._settings, made._is_key = settings, is_key
        made._forget()
        return made

    @property
    def _registry(self) -> SchemaRegistry:
        if self._known_registry is None:
            self._known_registry = registry_of(self._settings)
        return self._known_registry

    # Schemas

    def _new_reader(self, schema_id: int) -> Read:
        try:
            schema = self._registry.by_id(schema_id)
            if schema.kind != self.kind:
                raise ValueError(f"it is in the language of {schema.kind}, not of {self.kind}")
            return self._codec.reader(schema, imports_of(schema, self._registry))
        except RegistryUnavailableError:
            raise
        except RegistryError as error:
            raise SerializationError(error.code, error.message, error.fix) from error
        except (ValueError, KeyError, TypeError) as error:
            raise SerializationError(
                "schema-mismatch",
                f"{type(self).__name__} cannot read records of schema {schema_id}: {error}",
                fix="give the serde a schema that can read what was written with that one",
            ) from error

    def _new_writer(self, topic: str) -> Write:
        try:
            schema_id, schema = self._chosen(topic)
            write = self._codec.writer(schema, imports_of(schema, self._registry))
        except RegistryUnavailableError:
            raise
        except RegistryError as error:
            raise SerializationError(
                "schema-refused",
                f"the schema for topic {topic!r} cannot be used: {error.message}",
                fix=error.fix or "change the schema so that the registry accepts it",
            ) from error
        prefix = bytes([MAGIC]) + schema_id.to_bytes(4, "big")
        return lambda value: prefix + write(value)

    def _chosen(self, topic: str) -> tuple[int, Schema]:
        """Return the schema that values of a topic are written with, and its id."""
        settings, registry = self._settings, self._registry
        registers = AUTO_REGISTER.value_in(settings)
        own = self._codec.own(lambda name, schema: self._reference(name, schema, registers))
        record = None if own is None else self._codec.record_name(own, imports_of(own, registry))
        subject = strategy_in(settings, is_key=self._is_key)(topic, self._is_key, record)
        if own is None or USE_LATEST.value_in(settings):
            latest = registry.latest(subject)
            if latest is None:
                raise _missing(subject, "has no schema")
            return latest.id, latest.schema
        if registers:
            return registry.register(subject, own), own
        found = registry.lookup(subject, own)
        if found is None:
            raise _missing(subject, "does not have the schema of the serde")
        return found.id, own

    def _reference(self, name: str, schema: Schema, registers: bool) -> SchemaReference:
        """Return where the registry has an imported schema: in the subject of its name."""
        if registers:
            self._registry.register(name, schema)
        found = self._registry.lookup(name, schema)
        if found is None:
            raise _missing(name, "does not have a schema that the serde's schema imports")
        return SchemaReference(name, name, found.version)

    # Being a value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SchemaSerde) or type(other) is not type(self):
            return False
        return other._identity() == self._identity()

    def __hash__(self) -> int:
        return hash((type(self), self._arguments(), self._is_key))

    def _identity(self) -> tuple[Any, ...]:
        return (*self._arguments(), self._settings, self._is_key)

    def __repr__(self) -> str:
        # Settings are left out: a password may be among them.
        given = ", ".join(f"{each!r:.60}" for each in self._arguments() if each is not None)
        return f"{type(self).__name__}({given})"

    def __reduce__(self) -> tuple[Any, ...]:
        state = (self._config, self._settings, self._is_key)
        return _rebuilt, (type(self), self._arguments(), state)


def _rebuilt(
    cls: Callable[..., SchemaSerde[Any]],
    arguments: tuple[Any, ...],
    state: tuple[dict[str, Any], dict[str, Any], bool],
) -> SchemaSerde[Any]:
    config, settings, is_key = state
    return cls(*arguments, config=config)._copy(settings, is_key=is_key)


def _missing(subject: str, problem: str) -> SerializationError:
    return SerializationError(
        "schema-not-registered",
        f"subject {subject!r} of the schema registry {problem}",
        fix="register it first, or set auto.register.schemas to true and use.latest.version"
        " to false and give the serde a schema",
    )
