"""Statements as they may be shown and logged: values of secrets are hidden."""

from __future__ import annotations

import re

from penstock.model.secrets import shown
from penstock.sql.syntax.masking import OPEN, is_about_new_connector, masked_sql

_ASSIGNED = re.compile(
    r"""(?P<name>"[^"]*"|'[^']*'|`[^`]*`|[A-Za-z_][\w.]*)(?P<between>\s*=\s*)"""
    r"""'(?P<value>(?:[^']|'')*)'"""
)


def masked(sql: str) -> str:
    """Return a statement without the secrets in it.

    Of a connector only the names of its properties are left: which ones are secret is for the
    connector to say.

    >>> masked("SET 'sasl.jaas.config' = 'p';")
    "SET 'sasl.jaas.config' = '[hidden]';"
    """
    return _ASSIGNED.sub(_without_secret, masked_sql(sql))


def blotted(sql: str) -> str:
    """Return a statement of the same length with stars in the place of secrets.

    Errors show it: every line and column of it is where it was, so they can point into it.

    >>> blotted("SET 'sasl.jaas.config' = 'p w' oops;")
    "SET 'sasl.jaas.config' = '***' oops;"
    """
    is_connector = is_about_new_connector(sql)

    def blot(found: re.Match[str]) -> str:
        name, value = found["name"].strip("\"'`"), found["value"]
        is_open = name.lower() in OPEN if is_connector else shown(name, value) == value
        text = value if is_open else re.sub(r"[^\n]", "*", value)
        return f"{found['name']}{found['between']}'{text}'"

    return _ASSIGNED.sub(blot, sql)


def _without_secret(found: re.Match[str]) -> str:
    name, value = found["name"].strip("\"'`"), found["value"].replace("''", "'")
    text = shown(name, value).replace("'", "''")
    return f"{found['name']}{found['between']}'{text}'"
