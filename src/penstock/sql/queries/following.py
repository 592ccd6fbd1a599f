"""The difference between the running queries of a runtime and those of the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.sql.catalog.catalog import Catalog
from penstock.sql.planner.plan import QueryPlan


@dataclass(frozen=True, slots=True)
class Todo:
    """Queries to stop, then queries whose state to delete, then queries to start.

    A query that CREATE OR REPLACE changed is stopped and started: its state stays.
    """

    stop: tuple[str, ...]
    forget: tuple[str, ...]
    start: tuple[str, ...]


def todo(running: Mapping[str, QueryPlan], catalog: Catalog) -> Todo:
    """Compare what runs with the catalog.

    The caller clears ``catalog.ended`` once the state of those queries is deleted.
    """
    wanted = {query_id: query.plan for query_id, query in catalog.queries.items()}
    ended = set(catalog.ended)
    stop = [
        query_id
        for query_id, plan in running.items()
        if query_id in ended or wanted.get(query_id) is not plan
    ]
    start = [query_id for query_id in wanted if query_id not in running or query_id in stop]
    return Todo(tuple(stop), tuple(dict.fromkeys(catalog.ended)), tuple(start))
