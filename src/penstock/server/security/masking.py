"""Statements as they may be shown and logged: values of secrets are hidden."""

from __future__ import annotations

import re

import orjson

from penstock.model.secrets import HIDDEN, shown
from penstock.sql.syntax.assignments import Assignment, with_values
from penstock.sql.syntax.masking import OPEN, is_about_new_connector, masked_sql


def masked(sql: str) -> str:
    """Return a statement without the secrets in it.

    Of a connector's properties only the names are left, since only the connector knows which values
    are secret.

    >>> masked("SET 'sasl.jaas.config' = 'p';")
    "SET 'sasl.jaas.config' = '[hidden]';"
    """
    return with_values(masked_sql(sql), _without_secret)


def blotted(sql: str) -> str:
    """Return a statement of the same length with stars in the place of secrets.

    Errors show it. Lines and columns stay the same, so that an error can point into it.

    >>> blotted("SET 'sasl.jaas.config' = 'p w' oops;")
    "SET 'sasl.jaas.config' = '***' oops;"
    """
    is_connector = is_about_new_connector(sql)

    def blot(found: Assignment) -> str:
        name, value = found.name, found.value
        is_open = name.lower() in OPEN if is_connector else shown(name, value) == value
        return value if is_open else re.sub(r"[^\n]", "*", value)

    return with_values(sql, blot)


#: Topics with the commands of servers, of Penstock and of ksqlDB.
_COMMANDS = re.compile(r"_penstock-sql-.*-commands|_confluent-ksql-.*_command_topic")
#: Settings of a command, by the names that Penstock and ksqlDB give them.
_SETTINGS = ("properties", "streamsProperties", "originalProperties")


def is_command_topic(topic: str) -> bool:
    """Tell whether a topic has a usual name of command topics, of Penstock or of ksqlDB."""
    return _COMMANDS.fullmatch(topic) is not None


def masked_command(value: bytes | None) -> str | None:
    """Return a record of a command topic as it may be shown; None if it is not a command.

    Values of variables are hidden, whatever their names are: a password may be one of them. So is
    the checksum, with which a short secret could be guessed.
    """
    try:
        data = orjson.loads(value or b"")
    except ValueError:
        return None
    if not isinstance(data, dict) or not isinstance(data.get("statement"), str):
        return None
    data["statement"] = masked(data["statement"])
    for name in _SETTINGS:
        if isinstance(data.get(name), dict):
            data[name] = {each: shown(each, str(given)) for each, given in data[name].items()}
    if isinstance(data.get("variables"), dict):
        data["variables"] = dict.fromkeys(data["variables"], HIDDEN)
    data.pop("checksum", None)
    return orjson.dumps(data).decode()


def _without_secret(found: Assignment) -> str:
    return shown(found.name, found.value.replace("''", "'")).replace("'", "''")
