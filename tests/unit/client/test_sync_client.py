"""The blocking client against a server that speaks the same protocol.

Exercises ``sync_connection``, ``sync_queries``, ``sync_inserts`` and ``client.exchange``.
"""

import pickle
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from penstock.client import (
    Client,
    InsertAck,
    InsertError,
    RequestRefusedError,
    ServerUnreachableError,
)
from penstock.errors import InvalidArgumentError
from tests.unit.client.fake_server import FakeServer

CREATE = "CREATE STREAM clicks (usr STRING KEY, n INTEGER) WITH (KAFKA_TOPIC='clicks');"


@pytest.fixture
def client(server: FakeServer) -> Iterator[Client]:
    with Client(server.url) as connected:
        yield connected


def eventually(is_true: Any) -> None:
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_rows_of_a_pull_query_have_python_values(client: Client) -> None:
    """Decimals keep their digits, timestamps are in UTC, NULL is None."""
    result = client.execute_query("SELECT * FROM ORDERS;")
    assert result[0].as_dict() == {
        "ID": "a",
        "AMOUNT": 1,
        "PRICE": Decimal("2.5"),
        "AT": datetime(2024, 1, 2, 3, 4, 5, 6000, UTC),
    }
    assert result[1] == ("b", None, None, None)
    assert len(result) == 2
    assert result.columns.names == ("ID", "AMOUNT", "PRICE", "AT")


def test_deleted_rows_come_if_they_are_asked_for(server: FakeServer, client: Client) -> None:
    """They have the key and a mark; without asking, the form of ksqlDB is asked for."""
    server.sources["ORDERS"].kind, server.does_push_end = "TABLE", True
    server.push_rows = [["x", 1, 1, None], {"tombstone": ["x", None, None, None]}]
    with client.stream_query("SELECT * FROM ORDERS EMIT CHANGES;", has_deletions=True) as rows:
        assert rows.row_key == ("ID",)
        first, second = rows
    assert (first.is_deleted, second.is_deleted) == (False, True)
    assert second == ("x", None, None, None)
    assert pickle.loads(pickle.dumps(second)).is_deleted
    with client.stream_query("SELECT * FROM ORDERS EMIT CHANGES;") as rows:
        assert rows.row_key is None
    assert server.headers[-1]["accept"] == "application/vnd.ksqlapi.delimited.v1"


def test_push_query_yields_rows_before_it_ends(server: FakeServer, client: Client) -> None:
    """A row is there as soon as it was sent, and leaving the block ends the query."""
    server.push_rows = [["x", 1, 1, None], ["y", 2, 1, None]]
    with client.stream_query("SELECT * FROM ORDERS EMIT CHANGES;") as rows:
        assert rows.query_id == "push-1"
        assert [next(rows)["id"], next(rows)["id"]] == ["x", "y"]
        assert server.open_queries == 1
    eventually(lambda: server.open_queries == 0)


def test_push_query_fails_where_the_server_says_so(server: FakeServer, client: Client) -> None:
    """An error behind rows is raised behind these rows."""
    error: Any = {"@type": "generic_error", "error_code": 50000, "message": "lost the topic"}
    server.push_rows = [["x", 1, 1, None], error]
    rows = client.stream_query("SELECT * FROM ORDERS EMIT CHANGES;")
    assert next(rows)["ID"] == "x"
    with pytest.raises(RequestRefusedError, match="lost the topic") as raised:
        next(rows)
    assert raised.value.code == "server-error"


def test_continuation_token_of_the_server_is_kept(server: FakeServer, client: Client) -> None:
    token: Any = {"continuationToken": "t-7"}
    server.push_rows = [token, ["x", 1, 1, None]]
    with client.stream_query("SELECT * FROM ORDERS EMIT CHANGES;") as rows:
        next(rows)
        assert rows.continuation_token == "t-7"


def test_refused_statement_names_code_message_place_and_statement(client: Client) -> None:
    with pytest.raises(RequestRefusedError) as raised:
        client.execute_statement("CRATE STREAM x;")
    error = raised.value
    assert (error.error_code, error.code, error.status) == (40001, "bad-statement", 400)
    assert error.statement == "CRATE STREAM x;"
    assert error.place == (1, 1)
    assert "mismatched input" in str(error)


def test_results_before_a_refused_statement_are_in_the_error(client: Client) -> None:
    """What ran before the failure has happened, and the caller sees it."""
    with pytest.raises(RequestRefusedError) as raised:
        client.execute_statements(f"{CREATE} CRATE;")
    assert [each["commandStatus"]["status"] for each in raised.value.entities] == ["SUCCESS"]


def test_next_statement_waits_for_the_command_before_it(server: FakeServer, client: Client) -> None:
    """The sequence number of the last command goes along, whichever server answers next."""
    created = client.execute_statement(CREATE)
    assert created.sequence == 1
    client.list_streams()
    assert server.requests[-1]["commandSequenceNumber"] == 1
    with pytest.raises(RequestRefusedError):
        client.execute_statements("DROP STREAM CLICKS; DESCRIBE nothing;")
    client.execute_statement("SHOW STREAMS;")
    assert server.requests[-1]["commandSequenceNumber"] == 2
    client.forget_sequence()
    client.list_streams()
    assert "commandSequenceNumber" not in server.requests[-1]


def test_properties_and_variables_go_along(server: FakeServer, client: Client) -> None:
    client.define("name", "ORDERS")
    client.execute_query("SELECT * FROM ${name};", {"auto.offset.reset": "earliest"})
    asked = server.requests[-1]
    assert asked["properties"] == {"auto.offset.reset": "earliest"}
    assert asked["sessionVariables"] == client.variables == {"name": "ORDERS"}
    client.undefine("name")
    client.undefine("never")
    assert client.variables == {}


def test_inserted_row_is_there(client: Client) -> None:
    client.insert_into("orders", {"id": "c", "price": Decimal("1.10"), "at": None})
    assert client.execute_query("SELECT * FROM ORDERS;")[2][:3] == ("c", None, Decimal("1.10"))


def test_stream_of_inserts_is_acknowledged_in_order(server: FakeServer, client: Client) -> None:
    rows = ({"ID": f"r{i}", "AMOUNT": i} for i in range(7))
    acks = list(client.stream_inserts("ORDERS", rows, batch_rows=3))
    assert acks == [InsertAck(i) for i in range(7)]
    assert [row[0] for row in server.sources["ORDERS"].rows[2:]] == [f"r{i}" for i in range(7)]


def test_row_does_not_wait_for_a_slow_producer(client: Client) -> None:
    """The acknowledgement of the first row comes before the second row is made."""
    acks: list[InsertAck] = []

    def rows() -> Iterator[dict[str, Any]]:
        yield {"ID": "first"}
        eventually(lambda: acks)
        yield {"ID": "second"}

    for ack in client.stream_inserts("ORDERS", rows()):
        acks.append(ack)
    assert [ack.seq for ack in acks] == [0, 1]


def test_refused_row_is_named_and_later_ones_are_not_sent(
    server: FakeServer, client: Client
) -> None:
    rows = [{"ID": "ok"}, {"ID": "ok2"}, {"NO": 1}, {"ID": "never"}]
    with pytest.raises(InsertError, match="no column NO") as raised:
        list(client.stream_inserts("ORDERS", rows, batch_rows=2))
    assert raised.value.seq == 2
    assert [row[0] for row in server.sources["ORDERS"].rows[2:]] == ["ok", "ok2"]


def test_error_of_the_producer_comes_behind_its_rows(server: FakeServer, client: Client) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        yield {"ID": "ok"}
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        list(client.stream_inserts("ORDERS", rows()))
    assert server.sources["ORDERS"].rows[-1][0] == "ok"


def test_the_catalog_is_listed(client: Client) -> None:
    client.execute_statement("CREATE TABLE t AS SELECT * FROM orders;")
    assert [(each.name, each.value_format) for each in client.list_streams()] == [
        ("ORDERS", "JSON")
    ]
    assert [each.name for each in client.list_tables()] == ["T"]
    assert client.list_topics()[0].partitions == 1
    query = client.list_queries()[0]
    assert (query.id, query.state, query.is_persistent) == ("CTAS_T_1", "RUNNING:1", True)
    assert [each.kind for each in client.list_functions()] == ["SCALAR", "AGGREGATE"]
    assert client.list_properties() == {"ksql.service.id": "fake"}
    assert client.list_connectors()[0].kind == "SOURCE"
    fields = client.describe_source("orders").fields
    assert [(each.name, each.type, each.is_key) for each in fields][:2] == [
        ("ID", "STRING", True),
        ("AMOUNT", "INTEGER", False),
    ]


def test_connectors_and_assertions_are_statements(server: FakeServer, client: Client) -> None:
    client.create_connector("my pg", {"connector.class": "io.Pg"}, is_source=True)
    client.drop_connector("pg", if_exists=True)
    client.assert_topic("orders", {"PARTITIONS": 2}, timeout=timedelta(seconds=5))
    client.assert_schema("orders-value", exists=False)
    assert [each["ksql"] for each in server.requests] == [
        "CREATE SOURCE CONNECTOR `my pg` WITH ('connector.class'='io.Pg');",
        "DROP CONNECTOR IF EXISTS pg;",
        "ASSERT TOPIC 'orders' WITH (PARTITIONS=2) TIMEOUT 5 SECONDS;",
        "ASSERT NOT EXISTS SCHEMA SUBJECT 'orders-value';",
    ]


def test_connector_is_described(server: FakeServer, client: Client) -> None:
    server.answers["DESCRIBE CONNECTOR pg;"] = {
        "@type": "connector_description",
        "connectorClass": "io.Pg",
        "status": {"name": "pg", "type": "source", "connector": {"state": "RUNNING"}, "tasks": []},
        "topics": ["pg.orders"],
    }
    found = client.describe_connector("pg")
    assert (found.class_name, found.state, found.topics) == ("io.Pg", "RUNNING", ("pg.orders",))


def test_push_query_is_ended_from_elsewhere(server: FakeServer, client: Client) -> None:
    client.terminate_push_query("push-1")
    assert server.closed == ["push-1"]
    with pytest.raises(RequestRefusedError, match="No query"):
        client.terminate_push_query("gone")


def test_printed_records_are_lines(client: Client) -> None:
    with client.print_topic("PRINT orders;") as records:
        assert [line.decode()[:10] for line in records.lines()] == ["rowtime: 1", "rowtime: 2"]


def test_server_describes_itself(client: Client) -> None:
    info = client.server_info()
    assert (info.version, info.service_id, info.status) == ("0.1", "fake_", "RUNNING")
    assert client.health() == client.cluster_status() == {"isHealthy": True}
    assert client.command_status("stream/ORDERS/create")["message"] == "stream/ORDERS/create"
    client.check_property("auto.offset.reset")
    with pytest.raises(RequestRefusedError, match="Not recognizable"):
        client.check_property("bad.one")


def test_login_goes_along(server: FakeServer) -> None:
    server.authorization = "Basic YW5uOnNlY3JldA=="
    with Client(server.url, user="ann", password="secret") as client:
        assert client.list_streams()
    with Client(server.url) as client, pytest.raises(RequestRefusedError) as raised:
        client.list_streams()
    assert raised.value.code == "unauthorized"
    assert raised.value.fix is not None


def test_token_and_headers_go_along(server: FakeServer) -> None:
    server.authorization = "Bearer t1"
    with Client(server.url, token="t1", headers={"x-trace": "7"}) as client:
        client.server_info()
    assert server.headers[-1]["x-trace"] == "7"


def test_nobody_at_the_address_is_said_clearly() -> None:
    with (
        Client("http://127.0.0.1:9", timeout=5) as client,
        pytest.raises(ServerUnreachableError, match=r"127\.0\.0\.1:9") as raised,
    ):
        client.server_info()
    assert "penstock server" in (raised.value.fix or "")


def test_slow_answer_ends_in_time(server: FakeServer) -> None:
    """A query that should end and says nothing is not waited for without end."""
    server.is_silent = True
    with (
        Client(server.url, timeout=0.3) as client,
        pytest.raises(ServerUnreachableError) as raised,
    ):
        client.execute_query("SELECT * FROM ORDERS EMIT CHANGES;")
    assert raised.value.code == "server-timeout"


def test_http2_from_the_first_byte(server: FakeServer) -> None:
    """As ksqlDB's Java client speaks."""
    with Client(server.url, http2=True) as client:
        assert len(client.execute_query("SELECT * FROM ORDERS;")) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"url": "localhost:8088"}, "bad-server-url"),
        ({"user": "a", "token": "b"}, "two-logins"),
        ({"key": "k.pem"}, "no-certificate"),
        ({"url": "https://h", "ca": "/no/such/file"}, "bad-tls-file"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        Client(**arguments)
    assert raised.value.code == code
