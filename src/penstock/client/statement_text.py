"""Statements that the methods of the client write: names quoted, literals escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from penstock.errors import InvalidArgumentError

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def identifier(name: str) -> str:
    """Return a name as a statement has it: quoted only where it must be.

    A name that is written in quotes stays as it is, so that case can be kept.

    >>> identifier("orders"), identifier("my-orders"), identifier("`Orders`")
    ('orders', '`my-orders`', '`Orders`')
    """
    if _PLAIN_NAME.match(name) or (len(name) > 2 and name[0] == name[-1] == "`"):
        return name
    if not name:
        raise InvalidArgumentError("no-name", "a name is empty")
    return f"`{name.replace('`', '``')}`"


def literal(value: Any) -> str:
    """Return a value as a literal: text in quotes, numbers and truth values as they are.

    >>> literal("it's"), literal(3), literal(True)
    ("'it''s'", '3', 'true')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return "'" + str(value).replace("'", "''") + "'"


def create_connector(
    name: str, config: Mapping[str, Any], *, is_source: bool, if_not_exists: bool
) -> str:
    kind = "SOURCE" if is_source else "SINK"
    condition = "IF NOT EXISTS " if if_not_exists else ""
    settings = ", ".join(f"{literal(key)}={literal(str(value))}" for key, value in config.items())
    return f"CREATE {kind} CONNECTOR {condition}{identifier(name)} WITH ({settings});"


def drop_connector(name: str, *, if_exists: bool) -> str:
    return f"DROP CONNECTOR {'IF EXISTS ' if if_exists else ''}{identifier(name)};"


def assert_topic(
    topic: str, config: Mapping[str, int], *, exists: bool, timeout: timedelta | None
) -> str:
    settings = ", ".join(f"{key}={literal(value)}" for key, value in config.items())
    with_clause = f" WITH ({settings})" if settings else ""
    negation = "" if exists else "NOT EXISTS "
    return f"ASSERT {negation}TOPIC {literal(topic)}{with_clause}{_timeout(timeout)};"


def assert_schema(
    subject: str | None, schema_id: int | None, *, exists: bool, timeout: timedelta | None
) -> str:
    if subject is None and schema_id is None:
        raise InvalidArgumentError("no-subject", "assert_schema needs a subject, an id or both")
    parts = [
        f" SUBJECT {literal(subject)}" if subject is not None else "",
        f" ID {schema_id}" if schema_id is not None else "",
    ]
    negation = "" if exists else "NOT EXISTS "
    return f"ASSERT {negation}SCHEMA{''.join(parts)}{_timeout(timeout)};"


def _timeout(timeout: timedelta | None) -> str:
    if timeout is None:
        return ""
    return f" TIMEOUT {max(1, round(timeout.total_seconds()))} SECONDS"
