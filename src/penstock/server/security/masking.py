"""Statements as they may be shown and logged: values of secrets are hidden."""

from __future__ import annotations

import re

from penstock.model.secrets import shown

_ASSIGNED = re.compile(
    r"""(?P<name>"[^"]*"|'[^']*'|`[^`]*`|[A-Za-z_][\w.]*)(?P<between>\s*=\s*)"""
    r"""'(?P<value>(?:[^']|'')*)'"""
)


def masked(sql: str) -> str:
    """Return a statement without the secrets in it.

    >>> masked("CREATE SINK CONNECTOR c WITH ('connection.password' = 'p', 'tasks.max' = '1');")
    "CREATE SINK CONNECTOR c WITH ('connection.password' = '[hidden]', 'tasks.max' = '1');"
    """
    return _ASSIGNED.sub(_without_secret, sql)


def _without_secret(found: re.Match[str]) -> str:
    name, value = found["name"].strip("\"'`"), found["value"].replace("''", "'")
    text = shown(name, value).replace("'", "''")
    return f"{found['name']}{found['between']}'{text}'"
