"""Names of the variables that DEFINE and ``--define`` make. ksqlDB decides what is allowed."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_@]*")


def is_variable_name(name: str) -> bool:
    """Return whether a variable can have this name, and so be written as ``${name}``."""
    return _NAME.fullmatch(name) is not None
