"""The catalog after a case: streams, tables and topics with their formats."""

from __future__ import annotations

from typing import Any

from penstock.sql import SqlEngine
from tests.sqlcases.cases import Case


def post_differences(case: Case, engine: SqlEngine) -> list[str]:
    """Gives what differs between the catalog and the case's ``post``."""
    problems: list[str] = []
    for wanted in case.post.get("sources") or ():
        problems.extend(_source_problems(wanted, engine))
    return problems


def _source_problems(wanted: dict[str, Any], engine: SqlEngine) -> list[str]:
    source = engine.sources.get(wanted["name"])
    if source is None:
        return [f"there is no source {wanted['name']}"]
    if source.kind != str(wanted["type"]).upper():
        return [f"{source.name} is a {source.kind}, not a {wanted['type']}"]
    return []
