"""Functions about NULL and about keys."""

from __future__ import annotations

from typing import Any

from penstock.sql.functions.declare import scalar


@scalar("COALESCE", "A, A... -> A", takes_null=True)
def coalesce(*values: Any) -> Any:
    """Return the first argument that is not NULL."""
    return next((value for value in values if value is not None), None)


@scalar("IFNULL", "A, A -> A", takes_null=True)
def ifnull(value: Any, alternative: Any) -> Any:
    """Return the first argument, or the second if the first is NULL."""
    return alternative if value is None else value


@scalar("NULLIF", "A, A -> A", takes_null=True)
def nullif(value: Any, unwanted: Any) -> Any:
    """Return NULL if both arguments are equal, else the first."""
    return None if value == unwanted else value


@scalar("AS_VALUE", "A -> A", takes_null=True)
def as_value(value: Any) -> Any:
    """Copy a key column into the value."""
    return value
