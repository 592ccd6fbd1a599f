"""The properties of a request: settings that are in force for its statements only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from penstock.server.errors import BadRequestError
from penstock.sql.setting_names import alias_of, check_changeable, check_setting

DENYLIST = "ksql.properties.overrides.denylist"


def checked_properties(properties: Mapping[str, Any], denied: Collection[str]) -> dict[str, str]:
    """Return the settings of a request as text; those without a value are left out.

    Args:
        properties: The settings as JSON has them.
        denied: Settings that requests may not change.

    Raises:
        BadRequestError: ``fixed-setting`` for one that is denied, ``bad-setting`` for a value that
            is a list or an object.
        SqlError: ``unknown-setting``, ``fixed-setting`` or ``bad-setting``.
    """
    given = {}
    for name, value in properties.items():
        if name in denied or alias_of(name) in denied:
            raise BadRequestError("fixed-setting", f"{name} cannot be changed: {DENYLIST} names it")
        if value is None:
            continue
        if isinstance(value, list | dict):
            raise BadRequestError(
                "bad-setting", f"{name} is {value!r:.100}", fix="send a text, a number or a boolean"
            )
        text = str(value).lower() if isinstance(value, bool) else str(value)
        check_changeable(name, None)
        check_setting(name, text, None)
        given[name] = text
    return given
