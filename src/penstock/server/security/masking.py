"""Statements as they may be shown and logged: values of secrets are hidden."""

from __future__ import annotations

import re

HIDDEN = "[hidden]"
#: Names that have one of these in them stand for something that must not be shown.
_SECRETS = (
    "password", "passwd", "passphrase", "secret", "jaas", "user.info", "token", "credential",
    "key.pem", "ssl.key", "private.key", "api.key", "apikey", "access.key",
)  # fmt: skip
_ASSIGNED = re.compile(
    r"""(?P<name>"[^"]*"|'[^']*'|`[^`]*`|[A-Za-z_][\w.]*)(?P<between>\s*=\s*)'(?:[^']|'')*'"""
)
_LOGIN = re.compile(r"(?<=://)[^/@\s:']*:[^/@\s']*(?=@)")
_PARAMETER = re.compile(r"(?i)((?:password|passwd|pwd|secret|token)=)[^&;\s']+")


def masked(sql: str) -> str:
    """Return a statement without the secrets in it.

    >>> masked("CREATE SINK CONNECTOR c WITH ('connection.password' = 'p', 'tasks.max' = '1');")
    "CREATE SINK CONNECTOR c WITH ('connection.password' = '[hidden]', 'tasks.max' = '1');"
    """
    hidden = _ASSIGNED.sub(_without_secret, sql)
    return _PARAMETER.sub(rf"\g<1>{HIDDEN}", _LOGIN.sub(HIDDEN, hidden))


def _without_secret(found: re.Match[str]) -> str:
    name = found["name"].strip("\"'`").lower()
    if any(part in name for part in _SECRETS):
        return f"{found['name']}{found['between']}'{HIDDEN}'"
    return found[0]
