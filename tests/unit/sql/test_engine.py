"""Statements change the catalog as a whole or not at all.

Exercises ``catalog.catalog``, ``ddl_changes``, ``queries.push``, ``statements.assertions`` and
``statements.session``.
"""

import json

import pytest

from penstock.registry.registry import MemoryRegistry, RegisteredSchema, RegistryError
from penstock.sql import SqlEngine, SqlError
from penstock.sql.results import TableResult
from penstock.sql.session import SqlSession
from tests.unit.sql.queries import ITEMS, ORDERS, engine_of, refusal, running


def test_refused_statement_undoes_the_script_before_it() -> None:
    """A script is run as a whole or not at all."""
    engine = SqlEngine()
    with pytest.raises(SqlError):
        engine.execute(f"{ORDERS} CREATE STREAM x AS SELECT nothing FROM orders;")
    assert engine.sources == {}
    assert engine.queries == {}


def test_error_points_at_the_column_of_its_statement() -> None:
    """The message shows the line of the statement at fault."""
    error = refusal(ORDERS, "CREATE STREAM x AS SELECT id, prize FROM orders;")
    assert error.code == "unknown-column"
    assert "PRICE" in str(error)
    assert "^" in str(error)


def test_query_ids_name_what_a_query_makes() -> None:
    """An id says what a query writes and reads, and not where it stands in the script."""
    engine = engine_of(
        ORDERS,
        "CREATE STREAM a AS SELECT * FROM orders;",
        "CREATE TABLE b AS SELECT item, COUNT(*) AS n FROM orders GROUP BY item;",
        "INSERT INTO a SELECT * FROM orders;",
    )
    assert list(engine.queries) == ["CSAS_A_0", "CTAS_B_0", "INSERTQUERY_A_ORDERS_0"]
    assert engine.application_id("CSAS_A_0") == "_confluent-ksql-default_query_CSAS_A_0"


def test_variable_is_replaced_in_later_statements() -> None:
    """DEFINE is in force for the statements behind it."""
    engine = engine_of(ORDERS, "DEFINE floor = '5';")
    engine.execute("CREATE STREAM x AS SELECT * FROM orders WHERE price > ${floor};")
    assert "X" in engine.sources


def test_name_that_is_taken_is_refused() -> None:
    """Streams and tables share one set of names."""
    assert refusal(ORDERS, ORDERS).code == "already-exists"
    engine = engine_of(ORDERS)
    same = ORDERS.replace("CREATE STREAM", "CREATE STREAM IF NOT EXISTS")
    assert engine.execute(same)[0].kind == "exists"


def test_source_in_use_cannot_be_dropped() -> None:
    """The error names the query that reads it; afterwards it can be dropped."""
    create = "CREATE STREAM a AS SELECT * FROM orders;"
    error = refusal(ORDERS, create, "DROP STREAM orders;")
    assert error.code == "in-use"
    assert "CSAS_A_0" in error.message
    engine = engine_of(ORDERS, create, "TERMINATE CSAS_A_0;", "DROP STREAM orders;")
    assert list(engine.sources) == ["A"]


def test_dropping_what_a_query_makes_ends_the_query() -> None:
    """A stream and the query that fills it live and end together."""
    engine = engine_of(ORDERS, "CREATE STREAM a AS SELECT * FROM orders;", "DROP STREAM a;")
    assert engine.queries == {}


def test_drop_checks_the_kind() -> None:
    """DROP TABLE does not drop a stream."""
    assert refusal(ORDERS, "DROP TABLE orders;").code == "wrong-kind"
    assert engine_of("DROP TABLE IF EXISTS nothing;").sources == {}


def test_custom_type_can_be_used_and_dropped() -> None:
    """CREATE TYPE names a type for later statements."""
    engine = engine_of(
        "CREATE TYPE money AS STRUCT<amount DECIMAL(9, 2), currency VARCHAR>;",
        "CREATE STREAM p (cost money) WITH (KAFKA_TOPIC='p', VALUE_FORMAT='JSON');",
        "DROP TYPE money;",
    )
    assert str(engine.sources["P"].schema.value[0].type).startswith("STRUCT<`AMOUNT` DECIMAL(9, 2)")
    assert engine.catalog.types == {}


def test_altered_stream_has_new_columns_at_its_end() -> None:
    """ALTER adds columns; queries that were planned before keep the old ones."""
    engine = engine_of(ORDERS, "ALTER STREAM orders ADD COLUMN note VARCHAR;")
    assert [c.name for c in engine.sources["ORDERS"].schema.value] == ["ITEM", "PRICE", "NOTE"]
    assert refusal(ORDERS, "ALTER STREAM orders ADD item INT;").code == "duplicate-column"


def test_inserted_values_are_one_record() -> None:
    """Values are converted to the columns' types; columns that are left out are NULL."""
    engine = engine_of(ORDERS, "INSERT INTO orders (id, price, rowtime) VALUES (7, 2 + 3, 99);")
    (record,) = engine.outbox
    assert (record.key, record.value, record.timestamp) == (b"7", b'{"ITEM":null,"PRICE":5}', 99)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("INSERT INTO orders (id, nothing) VALUES (1, 2);", "unknown-column"),
        ("INSERT INTO orders (id) VALUES (1, 2);", "wrong-number-of-values"),
        ("INSERT INTO orders (id) VALUES (item);", "column-in-values"),
        ("INSERT INTO orders (id) VALUES ('text');", "wrong-type"),
        ("INSERT INTO nothing VALUES (1);", "unknown-source"),
    ],
)
def test_values_that_do_not_fit_are_refused(statement: str, code: str) -> None:
    """Nothing is written when a value does not fit."""
    assert refusal(ORDERS, statement).code == code


def test_row_of_a_table_needs_its_key() -> None:
    """A table's row without a primary key has no place."""
    assert refusal(ITEMS, "INSERT INTO items (kind) VALUES ('fruit');").code == "missing-key"


def test_delete_writes_a_tombstone() -> None:
    """DELETE must name the whole key, and then deletes its row."""
    engine = engine_of(ITEMS, "DELETE FROM items WHERE name = 'pear';")
    (record,) = engine.outbox
    assert (record.key, record.value) == (b'"pear"', None)
    assert refusal(ITEMS, "DELETE FROM items WHERE kind = 'x';").code == "delete-without-key"


def test_push_query_gives_rows_until_its_limit() -> None:
    """Rows have all columns of SELECT, the key among them."""
    with running(ORDERS) as script:
        query = script.engine.query("SELECT id, price * 2 AS p FROM orders EMIT CHANGES LIMIT 2;")
        rows = script.queries.subscribe(query)
        for n in range(3):
            script.pipe("orders", n, {"item": "x", "price": n})
        assert list(rows) == [{"ID": 0, "P": 0}, {"ID": 1, "P": 2}]


def test_deleted_row_comes_with_its_key() -> None:
    """Of a deleted row of a table only the key is left; a stream has no such rows."""
    with running(ITEMS) as script:
        query = script.engine.query("SELECT kind, name AS n FROM items EMIT CHANGES;")
        rows = script.queries.subscribe(query)
        script.pipe("items", "fig", {"kind": "fruit"})
        script.pipe("items", "fig", None)
        assert list(rows) == [{"KIND": "fruit", "N": "fig"}, {"KIND": None, "N": "fig"}]


def test_push_query_may_aggregate_everything() -> None:
    """Without GROUP BY all rows are one group; a table would have no key."""
    with running(ORDERS) as script:
        rows = script.queries.subscribe(
            script.engine.query("SELECT SUM(price) AS s FROM orders EMIT CHANGES;")
        )
        script.pipe("orders", 1, {"price": 2})
        script.pipe("orders", 2, {"price": 3})
        assert list(rows) == [{"S": 2}, {"S": 5}]
    error = refusal(ORDERS, "CREATE TABLE t AS SELECT SUM(price) AS s FROM orders;")
    assert error.code == "aggregate-without-group"


def test_listing_is_data() -> None:
    """SHOW and DESCRIBE give rows under column names."""
    engine = engine_of(ORDERS, "CREATE STREAM a AS SELECT * FROM orders;")
    streams = engine.execute("SHOW STREAMS;")[0]
    assert [row[0] for row in streams.rows] == ["ORDERS", "A"]  # type: ignore[attr-defined]
    described = engine.execute("DESCRIBE orders;")[0]
    assert described.rows[0] == ("ID", "INTEGER", "KEY")  # type: ignore[attr-defined]
    explained = engine.execute("EXPLAIN CSAS_A_0;")[0]
    assert "Source: " in explained.details["topology"]  # type: ignore[attr-defined]


def test_bad_expression_gives_null_and_a_log_line(caplog: pytest.LogCaptureFixture) -> None:
    """A value that cannot be computed does not stop the query."""
    caplog.set_level("ERROR", "penstock.sql.processing")
    with running(ORDERS, "CREATE STREAM x AS SELECT id, 10 / price AS q FROM orders;") as script:
        script.pipe("orders", 1, {"price": 0})
        script.pipe("orders", 2, {"price": 5})
        assert script.read("X") == [(1, {"Q": None}), (2, {"Q": 2})]
    assert "CSAS_X_0" in caplog.text
    assert "PRICE" in caplog.text


def test_unreadable_record_is_skipped() -> None:
    """A record that is not of the declared format does not stop the query."""
    with running(ORDERS, "CREATE STREAM x AS SELECT * FROM orders;") as script:
        script.queries.pipe("orders", b"1", b"{not json", 0)
        script.pipe("orders", 2, {"item": "pear"})
        assert [key for key, _ in script.read("X")] == [2]


def test_assertion_waits_for_a_topic_and_a_schema() -> None:
    """What is not there in time is an error; NOT EXISTS is the other way round."""
    avro = "CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO', PARTITIONS=2);"
    engine = engine_of(avro)
    engine.execute("ASSERT TOPIC 's' WITH (PARTITIONS=2); ASSERT NOT EXISTS TOPIC 't';")
    engine.execute("ASSERT SCHEMA SUBJECT 's-value'; ASSERT NOT EXISTS SCHEMA ID 99;")
    short = "TIMEOUT 10 MILLISECONDS"
    assert refusal(avro, f"ASSERT TOPIC 't' {short};").code == "assertion-failed"
    assert (
        refusal(avro, f"ASSERT TOPIC 's' WITH (PARTITIONS=3) {short};").code == "assertion-failed"
    )
    assert refusal(avro, f"ASSERT NOT EXISTS SCHEMA ID 1 {short};").code == "assertion-failed"


def test_unknown_schema_id_is_an_error_of_its_statement() -> None:
    """Every refusal is a SqlError with the place of the statement, also those of a registry."""
    error = refusal(
        "CREATE STREAM s WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=77);"
    )
    assert (error.code, error.line) == ("unknown-schema", 1)
    assert "VALUE_SCHEMA_ID" in (error.fix or "")


def test_registry_that_fails_is_an_error_of_its_statement() -> None:
    """Whoever catches SqlError also learns that the registry does not answer."""

    class Silent(MemoryRegistry):
        def latest(self, subject: str) -> RegisteredSchema | None:
            raise RegistryError("registry-unreachable", "no answer")

    engine = SqlEngine(registry=Silent())
    with pytest.raises(SqlError) as refused:
        engine.execute("CREATE STREAM s WITH (KAFKA_TOPIC='s', VALUE_FORMAT='AVRO');")
    assert (refused.value.code, refused.value.line) == ("registry-unreachable", 1)


SUMS = "CREATE TABLE sums AS SELECT item, SUM(price) AS total FROM orders GROUP BY item;"
INSERT = "INSERT INTO orders VALUES (1, 'fig', 2);"


def test_inserted_rows_reach_the_local_queries() -> None:
    """Rows from before the start and rows from after it; each start sees them all."""
    engine = engine_of(ORDERS, SUMS, INSERT)
    with engine.local() as queries:
        engine.execute("INSERT INTO orders VALUES (2, 'fig', 3);")
        values = [json.loads(r.value or b"")["TOTAL"] for r in queries.produced]
        assert values == [2, 5]
    with engine.local() as again:
        assert len(again.produced) == 2
    engine.execute(INSERT)
    assert len(again.produced) == 2


def test_executed_select_has_rows() -> None:
    """A SELECT without EMIT is answered in its place among the statements of the script."""
    engine = SqlEngine()
    script = f"{ORDERS} {SUMS} {INSERT} SELECT * FROM sums; {INSERT} SELECT total, item FROM sums;"
    results = engine.execute(script)
    first, second = results[3], results[5]
    assert isinstance(first, TableResult)
    assert isinstance(second, TableResult)
    assert (first.columns, first.rows) == (("ITEM", "TOTAL"), (("fig", 2),))
    assert (second.columns, second.rows) == (("TOTAL", "ITEM"), ((4, "fig"),))


def test_executed_select_asks_the_queries_that_run() -> None:
    """What was piped into local queries is there, and a closed one is no longer asked."""
    with running(ORDERS, SUMS) as script:
        script.pipe("orders", 1, {"item": "fig", "price": 7})
        (answer,) = script.engine.execute("SELECT total FROM sums;")
        assert answer.rows == ((7,),)  # type: ignore[attr-defined]
    (answer,) = script.engine.execute("SELECT total FROM sums;")
    assert answer.rows == ()  # type: ignore[attr-defined]


def test_executed_push_query_says_where_its_rows_come() -> None:
    """Nobody waits for the end of a query that has none."""
    (result,) = engine_of(ORDERS).execute("SELECT * FROM orders EMIT CHANGES;")
    assert "subscribe" in result.message


def test_dropped_topic_leaves_no_rows_here() -> None:
    """DELETE TOPIC in this process forgets what INSERT has put into the topic, and its schemas."""
    avro = ORDERS.replace("VALUE_FORMAT='JSON'", "VALUE_FORMAT='AVRO'")
    engine = engine_of(avro, INSERT)
    (result,) = engine.execute("DROP STREAM orders DELETE TOPIC;")
    assert "topic orders deleted" in result.message
    assert engine.outbox == []
    assert engine.registry.latest("orders-value") is None
    assert engine.catalog.topics == {}


def test_topic_of_two_streams_is_not_deleted() -> None:
    """The other stream would be left without its records."""
    other = ORDERS.replace("orders (", "others (")
    error = refusal(ORDERS, other, "DROP STREAM orders DELETE TOPIC;")
    assert error.code == "topic-in-use"
    assert "OTHERS" in error.message


def test_paused_query_stays_paused_when_it_is_made_anew() -> None:
    """PAUSE is about the id of a query; RESUME and TERMINATE end it."""
    copy = "CREATE OR REPLACE STREAM a AS SELECT * FROM orders;"
    engine = engine_of(ORDERS, copy, "PAUSE CSAS_A_0;", copy)
    assert engine.queries["CSAS_A_0"].state == "PAUSED"
    engine.execute("RESUME ALL;")
    assert engine.queries["CSAS_A_0"].state == "RUNNING"
    engine.execute("PAUSE ALL; TERMINATE CSAS_A_0;")
    assert engine.catalog.paused == set()


def test_push_query_leaves_out_the_rows_before_its_offset() -> None:
    """LIMIT counts from there."""
    with running(ORDERS) as script:
        query = script.engine.query("SELECT id FROM orders EMIT CHANGES LIMIT 2 OFFSET 1;")
        subscription = script.queries.subscribe(query)
        for id_ in range(5):
            script.pipe("orders", id_, {"price": id_})
        assert subscription.rows == [{"ID": 1}, {"ID": 2}]


def test_a_session_changes_nothing_outside_of_it() -> None:
    """It plans for one request, with the settings and variables of that request."""
    engine = SqlEngine({"ksql.service.id": "shop_"})
    session = engine.session({"auto.offset.reset": "earliest"}, {"topic": "t"})
    assert type(session) is SqlSession
    trial = session.trial(
        "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='${topic}', FORMAT='JSON', PARTITIONS=1);"
    )
    session.catalog = trial.catalog
    assert session.settings["auto.offset.reset"] == "earliest"
    assert session.sources["S"].topic == "t"
    assert session.session().sources.keys() == {"S"}
    assert not engine.sources
    assert "auto.offset.reset" not in engine.settings
