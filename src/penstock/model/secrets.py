"""Which settings are secret, by their names, and how they are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "[hidden]"

#: Names that have one of these in them stand for something that must not be printed.
_PARTS = (
    "password", "passwd", "passphrase", "secret", "jaas", "user.info", "token", "credential",
    "key.pem", "ssl.key", "private.key", "api.key", "apikey", "access.key", "auth.header",
)  # fmt: skip
#: ``user:password@`` of a URL, and ``password=…`` among its parameters.
_LOGIN = re.compile(r"(?<=://)[^/@\s:]*:[^/@\s]*(?=@)")
_PARAMETER = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|sig)=)[^&;\s]+")
#: A value that Connect or Kafka looks up itself, such as ``${file:/run/secrets:password}``.
_REFERENCE = re.compile(r"\$\{[^}]+\}")


def is_secret(name: str) -> bool:
    """Tell whether the value of a setting of this name must not be printed.

    >>> is_secret("database.password"), is_secret("database.user")
    (True, False)
    """
    lowered = name.lower()
    return any(part in lowered for part in _PARTS)


def shown(name: str, value: str) -> str:
    """Return a value as it may be printed: hidden, or without the logins inside of it.

    >>> shown("connection.url", "jdbc:postgresql://db/shop?user=ann&password=p")
    'jdbc:postgresql://db/shop?user=ann&password=[hidden]'
    """
    if is_secret(name):
        return value if not value or _REFERENCE.fullmatch(value) else HIDDEN
    return _PARAMETER.sub(rf"\g<1>{HIDDEN}", _LOGIN.sub(HIDDEN, value))


def all_shown(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as they may be printed."""
    return {name: shown(name, value) for name, value in settings.items()}
