"""SHOW PROPERTIES: every setting, its value, and whether it was set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from penstock.config import SETTINGS
from penstock.model.secrets import shown
from penstock.sql.ksql_settings import KSQL_SETTINGS, QUERY_DEFAULTS
from penstock.sql.setting_names import STREAMS_PREFIX

PropertyRow = tuple[str, str, bool]


def property_rows(settings: Mapping[str, str]) -> list[PropertyRow]:
    """Return the settings of ksqlDB, of Kafka Streams and all others that were given, by name.

    Those of Kafka Streams come under ``ksql.streams.``, whichever way they were given. The values
    of passwords and keys are left out.
    """
    return sorted((name, _shown(name, value), given) for name, value, given in _all(settings))


def _all(settings: Mapping[str, str]) -> Iterator[tuple[str, Any, bool]]:
    left = dict(settings)
    for known in KSQL_SETTINGS:
        given = left.pop(known.name, None)
        yield known.name, known.default if given is None else given, given is not None
    for name, setting in SETTINGS.items():
        if name.startswith("__") or setting.newer is not None:
            continue
        plain, prefixed = left.pop(name, None), left.pop(f"{STREAMS_PREFIX}{name}", None)
        given = plain if prefixed is None else prefixed
        default = QUERY_DEFAULTS.get(name, setting.default)
        yield f"{STREAMS_PREFIX}{name}", default if given is None else given, given is not None
    yield from ((name, value, True) for name, value in left.items())


def _shown(name: str, value: Any) -> str:
    if value is None:
        return ""
    return shown(name, str(value).lower() if isinstance(value, bool) else str(value))
