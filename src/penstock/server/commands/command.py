"""One command: a statement with everything that a node needs to run it, as bytes on the topic."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any
from uuid import uuid4

import msgspec
import orjson

from penstock.errors import SerializationError

#: The version of the format. A node that reads a newer one stops and says so.
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A statement on its way to every node. Nodes that run the same commands have equal catalogs.

    So a command contains everything that another node could find to be different. Columns that came
    from a schema registry are part of the statement, and ``topics`` has the numbers of partitions
    that the writer found.
    """

    #: ksqlDB's id, such as ``stream/ORDERS/create``.
    id: str
    statement: str
    #: Settings in force for the statement, by name.
    properties: Mapping[str, str] = field(default_factory=dict)
    #: Variables in force for the statement, by name.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Partitions by topic, as the writer found them.
    topics: Mapping[str, int] = field(default_factory=dict)
    #: The number at the end of new query ids; it grows along the topic. None in the statements of a
    #: file, where ids follow from names: see ``penstock.server.headless``.
    number: int | None = 0
    #: Tells this command from all others, so that its writer recognises it.
    token: str = field(default_factory=lambda: uuid4().hex)
    version: int = VERSION

    def to_bytes(self) -> bytes:
        """Return the record's value, with a checksum over everything else in it."""
        data = asdict(self)
        return orjson.dumps({**data, "checksum": _checksum(data)})

    @staticmethod
    def of(value: bytes | None) -> Command:
        """Read a record's value.

        Raises:
            SerializationError: ``bad-command`` or ``newer-command``.
        """
        try:
            data = orjson.loads(value or b"")
        except ValueError:
            raise _bad("it is not JSON") from None
        if not isinstance(data, dict):
            raise _bad("it is not a JSON object")
        version = data.get("version")
        if _has_form_of_ksqldb(data):
            raise _of_ksqldb(version)
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise _bad(f"its version is {version!r}")
        if version > VERSION:
            raise SerializationError(
                "newer-command",
                f"the command has version {version}, and this server knows {VERSION}",
                fix="run a server at least as new as the one that wrote it",
            )
        if data.pop("checksum", None) != _checksum(data):
            raise _bad("its checksum does not fit")
        unknown = data.keys() - _FIELDS
        if unknown:
            # An unknown field may change what the command means.
            raise _bad(f"it has unknown fields: {', '.join(sorted(unknown))}")
        try:
            return msgspec.convert(data, Command)
        except msgspec.ValidationError as error:
            raise _bad(str(error)) from None


def is_of_ksqldb(value: bytes | None) -> bool:
    """Tell whether a record of a command topic was written by ksqlDB."""
    try:
        data = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return False
    return isinstance(data, dict) and _has_form_of_ksqldb(data)


def _has_form_of_ksqldb(data: Mapping[str, Any]) -> bool:
    return "checksum" not in data and {"statement", "streamsProperties"} <= data.keys()


_FIELDS = frozenset(field.name for field in fields(Command))


def _checksum(data: Mapping[str, Any]) -> str:
    canonical = orjson.dumps(data, option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(canonical).hexdigest()


def _bad(why: str) -> SerializationError:
    return SerializationError(
        "bad-command",
        f"a record of the command topic is not a command: {why}",
        fix="find out who writes to the topic; then run: penstock server restore-commands",
    )


def _of_ksqldb(version: Any) -> SerializationError:
    return SerializationError(
        "bad-command",
        f"a record of the command topic is one of ksqlDB (version {version}), not of Penstock",
        fix="name another topic with penstock.server.command.topic; to take the commands over, run:"
        " penstock server export-ksqldb",
    )
