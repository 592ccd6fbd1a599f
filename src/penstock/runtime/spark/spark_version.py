"""Refuses what only a newer PySpark can do. Everything else runs from 3.5 on."""

from __future__ import annotations

import re

import pyspark

from penstock.errors import StreamsError


def has_spark(least: str) -> bool:
    """Say whether this PySpark is at least of that version, such as 4.0."""
    return _numbers(pyspark.__version__) >= _numbers(least)


def require_spark(what: str, least: str) -> None:
    """Refuse something that needs a newer PySpark, before anything is started.

    Raises:
        StreamsError: ``old-spark``.
    """
    if not has_spark(least):
        raise StreamsError(
            "old-spark",
            f"{what} needs PySpark {least} or newer, and this is {pyspark.__version__}",
            fix=f"install it, as on the cluster: pip install 'pyspark>={least}'",
        )


def _numbers(version: str) -> list[int]:
    """Return major and minor version.

    >>> _numbers("4.1.0.dev2")
    [4, 1]
    """
    return [int(number) for number in re.findall(r"\d+", version)[:2]]
