"""A persistent query is planned and lowered once, and keeps the meaning it had then.

Exercises ``lowering.build`` and ``lowering.context``.
"""

import pytest

from penstock.sql import SqlEngine
from penstock.sql.execution import Execution

SOURCE = (
    "CREATE STREAM s (k STRING KEY, v INT)"
    " WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='JSON');"
)


def test_topology_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Creating builds it; running, asking and explaining use it."""
    built: list[str] = []
    lowered = Execution.lowered

    def counted(self: Execution, plan: object) -> object:
        built.append(plan.id)  # type: ignore[attr-defined]
        return lowered(self, plan)  # type: ignore[arg-type]

    monkeypatch.setattr(Execution, "lowered", counted)
    engine = SqlEngine()
    engine.execute(SOURCE + "CREATE STREAM t AS SELECT k, v + 1 AS w FROM s;")
    (query_id,) = engine.queries
    assert engine.topology(query_id) is engine.topology(query_id)
    engine.execute(f"EXPLAIN {query_id};")
    with engine.local() as running:
        assert running is not None
    assert built == [query_id]
    engine.query("SELECT * FROM s EMIT CHANGES;")
    engine.pull("SELECT * FROM s;")
    assert len(built) == 3


def test_query_outlives_the_type_it_was_written_with() -> None:
    """A type that is dropped later is still known to the queries that use it."""
    engine = SqlEngine()
    engine.execute("CREATE TYPE money AS BIGINT;" + SOURCE)
    engine.execute("CREATE STREAM t AS SELECT k, CAST(v AS money) AS w FROM s;")
    engine.execute("DROP TYPE money;")
    with engine.local() as running:
        running.pipe("s", b"a", b'{"V": 5}', 0)
        (record,) = running.records("T")
    assert record.value == b'{"W":5}'
