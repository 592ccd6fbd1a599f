"""Modules that need the extra ``sql``; the other commands work without it."""

from __future__ import annotations

import importlib
from typing import Any

from penstock.extras import needing


def needing_sql(module: str) -> Any:
    """Import what needs the extra.

    Raises:
        MissingExtraError: ``missing-extra`` with the command that installs it.
    """
    with needing("sql", "SQL"):
        return importlib.import_module(module)
