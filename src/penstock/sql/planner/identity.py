"""The ids of persistent queries, which do not depend on their position in a script.

An id contains what a query writes and reads. It ends with a number because ksqlDB's ids do. The
number distinguishes queries that write and read the same; it does not count the statements of the
script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.sql.catalog.catalog import PersistentQuery
from penstock.sql.planner.plan import QueryPlan
from penstock.topology.topology import Topology

_SHORT = {"STREAM": "CSAS", "TABLE": "CTAS"}
_INSERT = "INSERTQUERY"


def query_id_of(sink: str, *, kind: str, number: int | None = None) -> str:
    """Return the id of CREATE ... AS SELECT: a stream or table has one query that makes it.

    A server numbers its commands, so a query that is dropped and created again gets a new id.

    >>> query_id_of("VIEWS", kind="TABLE")
    'CTAS_VIEWS_0'
    >>> query_id_of("VIEWS", kind="TABLE", number=6)
    'CTAS_VIEWS_6'
    """
    return f"{_SHORT[kind]}_{sink}_{number or 0}"


def replaced_id_of(sink: str, queries: Mapping[str, PersistentQuery]) -> str | None:
    """Return the id of the query that made a stream or table, which its replacement keeps."""
    makers = (q for q in queries.values() if q.sink == sink and not q.plan.is_insert)
    return next((query.id for query in makers), None)


def insert_id_of(
    plan: QueryPlan, queries: Mapping[str, PersistentQuery], number: int | None = None
) -> str:
    """Return the id of INSERT INTO ... SELECT: what it writes, what it reads, and a number.

    The number distinguishes statements that write and read the same, in the order of the script.
    ``WITH (QUERY_ID='...')`` sets the id of a statement. In a server, the number of the command is
    enough.
    """
    if number is not None:
        return f"{_INSERT}_{number}"
    prefix = _insert_prefix(plan)
    number = 0
    while f"{prefix}_{number}" in queries:
        number += 1
    return f"{prefix}_{number}"


def told_apart(query: PersistentQuery, queries: Mapping[str, PersistentQuery]) -> Topology:
    """Return the topology of a query, marked if only its position distinguishes it from others."""
    statement, several = query.topology.graph.statement, is_one_of_several(query.plan, queries)
    if statement is None or statement.is_one_of_several == several:
        return query.topology
    return query.topology._with_statement(replace(statement, is_one_of_several=several))


def is_one_of_several(plan: QueryPlan, queries: Mapping[str, PersistentQuery]) -> bool:
    """Return whether only the order of the script distinguishes two INSERT INTO statements."""
    if not plan.is_insert or plan.is_named:
        return False
    prefix = _insert_prefix(plan)
    like = [
        query.id
        for query in queries.values()
        if not query.plan.is_named and query.id.rpartition("_")[0] == prefix
    ]
    return len({*like, plan.id}) > 1


def _insert_prefix(plan: QueryPlan) -> str:
    assert plan.sink is not None
    sources = "_".join(dict.fromkeys(source.name for source in plan.sources))
    return f"{_INSERT}_{plan.sink.name}_{sources}"
