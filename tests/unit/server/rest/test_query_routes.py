"""Queries over HTTP: ``query_routes``, ``query_answers``, ``query_request`` and ``row_forms``.

With them ``rest.printing``, ``rest.threaded`` and ``query_meter``.
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest

from penstock.kernel.record_queue import RawRecord
from penstock.server.positions import to_token
from penstock.server.push.service import TOKENS_ENABLED
from penstock.server.rest.replies import V1_JSON
from penstock.server.rest.row_forms import CHANGES, DELIMITED, EVENTS, V1_PROTOBUF
from penstock.serving.credentials import Access, Caller
from tests.unit.server.query_memory import Call, MemoryReader, QueryWorld, query, stream

TABLE = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)
        WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
    CREATE STREAM orders (id VARCHAR KEY, amount INT)
        WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');
"""
DAILY = """
    COUNT(*) AS n FROM orders WINDOW TUMBLING (SIZE 1 DAY) GROUP BY id EMIT CHANGES LIMIT 0;
"""
ANN = "SELECT * FROM users WHERE id = 'ann';"


@pytest.fixture
def users(world: QueryWorld) -> QueryWorld:
    world.execute(TABLE)
    for name, age in (("ann", 30), ("bob", 40)):
        world.topics.add("users", name.encode(), orjson.dumps({"AGE": age}))
    return world


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


def ask(world: QueryWorld, path: str, body: bytes, accept: str | None = None) -> tuple[int, bytes]:
    """Return status and body of one request."""
    found: list[Any] = []

    async def test() -> None:
        call = Call(world, path, body, {} if accept is None else {"accept": accept})
        text = await call.text()
        found.extend((call.status, text))

    run(test)
    return found[0], found[1]


def test_query_answers_with_an_array_of_objects(users: QueryWorld) -> None:
    """A header with the schema, then a row each; the second time from the cache."""
    for _ in range(2):
        status, body = ask(users, "/query", query(ANN))
        header, row = orjson.loads(body)
        assert status == 200
        assert header["header"]["schema"] == "`ID` STRING KEY, `AGE` INTEGER"
        assert header["header"]["queryId"]
        assert row == {"row": {"columns": ["ann", 30]}}


def test_query_stream_answers_with_lines(users: QueryWorld) -> None:
    """A line about the columns, and a line for each row."""
    status, body = ask(users, "/query-stream", stream("SELECT * FROM users;"))
    header, *rows = map(orjson.loads, body.splitlines())
    assert status == 200
    assert header["columnNames"] == ["ID", "AGE"]
    assert header["columnTypes"] == ["STRING", "INTEGER"]
    assert rows == [["ann", 30], ["bob", 40]]


def test_query_stream_answers_with_one_array_if_json_is_wanted(users: QueryWorld) -> None:
    """The same elements, as valid JSON."""
    _, body = ask(users, "/query-stream", stream("SELECT * FROM users;"), "application/json")
    header, *rows = orjson.loads(body)
    assert header["columnNames"] == ["ID", "AGE"]
    assert rows == [["ann", 30], ["bob", 40]]


def test_protobuf_rows_have_a_schema_in_the_header(users: QueryWorld) -> None:
    """Each row is the base64 of a message."""
    _, body = ask(users, "/query-stream", stream(ANN), V1_PROTOBUF)
    header, row = orjson.loads(body)
    assert header["header"]["protoSchema"] == (
        'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  string ID = 1;\n  int32 AGE = 2;\n}\n'
    )
    assert b64decode(row["row"]["protobufBytes"]) == b"\n\x03ann\x10\x1e"


def test_a_stream_ends_with_a_message(users: QueryWorld) -> None:
    """Whether the limit was reached, or all is read."""
    users.topics.add("orders", b"a", b'{"AMOUNT": 1}')
    for limit, message in (("", "Query Completed"), (" LIMIT 1", "Limit Reached")):
        _, body = ask(users, "/query", query(f"SELECT * FROM orders{limit};"))
        header, row, last = orjson.loads(body)
        assert header["header"]["schema"] == "`ID` STRING, `AMOUNT` INTEGER"
        assert row == {"row": {"columns": ["a", 1]}}
        assert last == {"finalMessage": message}


def test_an_answer_can_end_with_a_consistency_token(users: QueryWorld) -> None:
    """The next request hands it back, and gets at least what this one has."""
    on = {"ksql.query.pull.consistency.token.enabled": True}
    _, body = ask(users, "/query", query(ANN, streamsProperties=on))
    token = orjson.loads(body)[-1]["consistencyToken"]["consistencyToken"]
    given = {"request.ksql.query.pull.consistency.token": token}
    status, _ = ask(users, "/query", query(ANN, requestProperties=given))
    assert status == 200


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", 40000),
        (b"{}", 40000),
        (b'{"a":' * 5_000, 40000),
        (b'{"sql":"x","properties":' + b"[" * 5_000 + b"]" * 5_000 + b"}", 40000),
        (b'{"sql": 5}', 40000),
        (query("SELECT * FROM nothing;"), 40001),
        (query("SELECT"), 40001),
        (query("SELECT nothing FROM users;"), 40001),
        (query("DROP TABLE users;"), 40001),
        (query("SELECT * FROM users; SELECT * FROM users;"), 40001),
        (query("SELECT * FROM users LIMIT 2.5;"), 40001),
        (query(ANN, streamsProperties={"ksql.query.pull.max.allowed.offset.lag": "-1"}), 50300),
        (query("SELECT * FROM users;", requestProperties={
            "request.ksql.query.pull.consistency.token": "?"}), 40000),
        (query("SELECT * FROM users;", requestProperties={
            "request.ksql.query.pull.consistency.token": 5}), 40000),
        (query("SELECT * FROM users EMIT CHANGES;", requestProperties={
            "request.ksql.query.push.continuation.token": ["x"]}), 40000),
        (query(ANN, streamsProperties={"ksql.query.pull.max.allowed.offset.lag": "soon"}), 40000),
        (query(ANN, streamsProperties={"ksql.query.pull.max.allowed.offset.lag": {}}), 40000),
        (query("SELECT * FROM users EMIT CHANGES;", streamsProperties={
            "auto.offset.reset": "nonsense"}), 40000),
        (query("SELECT * FROM users EMIT CHANGES;", streamsProperties={
            "auto.offset.reset": ["earliest"]}), 40000),
        (query("SELECT COLLECT_LIST(age) FROM users GROUP BY id EMIT CHANGES;", streamsProperties={
            "ksql.functions.collect_list.limit": "x"}), 40000),
        (query(ANN, streamsProperties={"ksql.unheard.of": 1}), 40000),
        (query(ANN, streamsProperties={"": 1}), 40000),
        (query(ANN, streamsProperties=[]), 40000),
        (query(ANN, sessionVariables="x"), 40000),
        (query(ANN, commandSequenceNumber=1.5), 40000),
    ],
)  # fmt: skip
def test_errors_have_ksqldbs_codes(users: QueryWorld, path: str, body: bytes, code: int) -> None:
    """The status is the code's first part; a statement at fault is in the answer."""
    status, text = ask(users, path, body)
    error = orjson.loads(text)
    assert status == code // 100
    assert error["error_code"] == code
    if code == 40001:
        assert error["@type"] == "statement_error"
        assert error["statementText"]


@pytest.mark.parametrize("path", ["/query", "/query-stream"])
def test_a_refused_query_says_once_how_to_repair_it(users: QueryWorld, path: str) -> None:
    """The text of the error has the place and the fix; neither is told a second time."""
    _, text = ask(users, path, query("SELECT * FROM user;"))
    message = orjson.loads(text)["message"]
    assert message.count("fix:") == 1
    assert message.count("USERS") == 1


@pytest.mark.parametrize("path", ["/query", "/query-stream", "/close-query", "/inserts-stream"])
def test_a_body_that_is_not_utf_8_is_refused(users: QueryWorld, path: str) -> None:
    """It was an internal error."""
    status, body = ask(users, path, b'{"ksql": "\xff", "queryId": "\xff", "target": "\xff"}')
    assert status == 400
    assert orjson.loads(body)["error_code"] == 40000


def test_a_form_that_there_is_not_is_refused(users: QueryWorld) -> None:
    """406, as HTTP says."""
    status, _ = ask(users, "/query", query(ANN), "text/csv")
    assert status == 406


def test_a_push_query_sends_rows_until_the_client_leaves(users: QueryWorld) -> None:
    """Afterwards nothing of it is left: no reader, no thread."""

    async def test() -> None:
        call = Call(users, "/query", query("SELECT * FROM orders EMIT CHANGES;"))
        await call.until(b"header")
        users.topics.add("orders", b"a", b'{"AMOUNT": 1}')
        assert b'{"row":{"columns":["a",1]}}' in await call.until(b"row")
        call.leave()
        await asyncio.wait_for(call.task, 20)
        assert users.services.push.all() == []

    run(test)


def test_a_push_query_ends_at_its_limit(users: QueryWorld) -> None:
    """The last words say why."""

    async def test() -> None:
        sql = "SELECT amount FROM orders EMIT CHANGES LIMIT 2;"
        body = query(sql, streamsProperties={"auto.offset.reset": "earliest"})
        call = Call(users, "/query", body)
        for amount in range(3):
            users.topics.add("orders", b"a", b'{"AMOUNT": %d}' % amount)
        rows = await call.json()
        assert rows[1:] == [
            {"row": {"columns": [0]}},
            {"row": {"columns": [1]}},
            {"finalMessage": "Limit Reached"},
        ]

    run(test)


def test_deleted_rows_have_a_mark(users: QueryWorld) -> None:
    """In /query; the lines of /query-stream have no form for them."""

    async def test() -> None:
        sql = "SELECT * FROM users EMIT CHANGES LIMIT 1;"
        call = Call(users, "/query", query(sql))
        await call.until(b"header")
        users.topics.add("users", b"ann", None)
        assert b'{"row":{"columns":["ann",null],"tombstone":true}}' in await call.text()

    run(test)


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (V1_JSON, b'{"row":{"columns":["ann",null],"tombstone":true}}'),
        (V1_PROTOBUF, b'{"row":{"columns":["ann",null],"tombstone":true}}'),
        (CHANGES, b'{"tombstone":["ann",null]}\n'),
        (f"{CHANGES}, {DELIMITED}", b'{"tombstone":["ann",null]}\n'),
        (EVENTS, b'event: delete\ndata: ["ann",null]\n'),
    ],
)
def test_forms_that_have_a_word_for_deleted_rows(
    users: QueryWorld, accept: str, wanted: bytes
) -> None:
    """ksqlDB's versioned forms have one, and so have Penstock's own."""

    async def test() -> None:
        sql = "SELECT * FROM users EMIT CHANGES LIMIT 1;"
        call = Call(users, "/query-stream", stream(sql), {"accept": accept})
        await call.until(b"queryId")
        users.topics.add("users", b"ann", None)
        assert wanted in await call.text()

    run(test)


@pytest.mark.parametrize(
    ("sql", "key"),
    [
        ("SELECT * FROM users EMIT CHANGES LIMIT 0;", ["ID"]),
        ("SELECT age, id AS name FROM users EMIT CHANGES LIMIT 0;", ["NAME"]),
        ("SELECT age FROM users EMIT CHANGES LIMIT 0;", []),
        ("SELECT id, COUNT(*) AS n FROM orders GROUP BY id EMIT CHANGES LIMIT 0;", ["ID"]),
        (f"SELECT id, WINDOWSTART AS w, {DAILY}", ["ID", "W"]),
        (f"SELECT id, {DAILY}", []),
        ("SELECT * FROM orders EMIT CHANGES LIMIT 0;", None),
    ],
)
def test_changes_name_the_key(users: QueryWorld, sql: str, key: list[str] | None) -> None:
    """A client that keeps the rows of a table must know which column tells them apart."""
    _, body = ask(users, "/query-stream", stream(sql), CHANGES)
    assert orjson.loads(body.splitlines()[0]).get("keyColumns") == key


def test_close_query_ends_an_answer(users: QueryWorld) -> None:
    """The id is that of the header line."""

    async def test() -> None:
        call = Call(users, "/query-stream", stream("SELECT * FROM orders EMIT CHANGES;"))
        header = orjson.loads(await call.until(b"\n"))
        close = Call(users, "/close-query", orjson.dumps({"queryId": header["queryId"]}))
        await close.text()
        assert close.status == 200
        assert await call.text() == b""
        again = Call(users, "/close-query", orjson.dumps({"queryId": header["queryId"]}))
        assert (await again.json())["error_code"] == 40000

    run(test)


@pytest.mark.parametrize(
    ("access", "digest", "status"),
    [
        (Access.READ, b"ann", 200),
        (Access.READ, b"bob", 403),
        (Access.WRITE, b"bob", 200),
    ],
)
def test_readers_end_only_their_own_queries(
    users: QueryWorld, access: Access, digest: bytes, status: int
) -> None:
    """SHOW QUERIES tells everyone the ids, and a dashboard must not end for a stranger."""

    async def test() -> None:
        ann, other = Caller(Access.READ, b"ann"), Caller(access, digest)
        asked = stream("SELECT * FROM orders EMIT CHANGES;")
        call = Call(users, "/query-stream", asked, **{"penstock.caller": ann})
        header = await call.until(b"\n")
        body = orjson.dumps({"queryId": orjson.loads(header)["queryId"]})
        close = Call(users, "/close-query", body, **{"penstock.caller": other})
        await close.text()
        assert close.status == status
        still_open = [each for each in users.services.push.all() if not each.is_ended]
        assert len(still_open) == (1 if status == 403 else 0)
        call.leave()
        await asyncio.wait_for(call.task, 20)

    run(test)


def test_tokens_come_between_rows_if_they_are_wanted(users: QueryWorld) -> None:
    """A client that hands the last one back misses nothing."""

    async def test() -> None:
        sql, on = "SELECT amount FROM orders EMIT CHANGES;", {TOKENS_ENABLED: True}
        call = Call(users, "/query-stream", stream(sql, properties=on))
        await call.until(b"\n")
        users.topics.add("orders", b"a", b'{"AMOUNT": 1}')
        lines = (await call.until(b"continuationToken")).splitlines()
        token = orjson.loads(lines[-1])["continuationToken"]
        call.leave()
        users.topics.add("orders", b"a", b'{"AMOUNT": 2}')
        given = {"request.ksql.query.push.continuation.token": token}
        again = Call(users, "/query-stream", stream(sql, requestProperties=given))
        assert b"[2]" in await again.until(b"[2]")
        again.leave()
        await asyncio.wait_for(asyncio.gather(call.task, again.task), 20)

    run(test)


def test_browsers_get_server_sent_events(users: QueryWorld) -> None:
    """The id of an event is the token with which an EventSource goes on."""

    async def test() -> None:
        text = f"sql={quote('SELECT amount FROM orders EMIT CHANGES;')}"
        call = Call(users, "/query-stream", method="GET", query=text)
        await call.until(b"event: header")
        assert call.headers[b"content-type"].startswith(EVENTS.encode())
        users.topics.add("orders", b"a", b'{"AMOUNT": 1}')
        events = await call.until(b"id: ")
        assert b"event: row\ndata: [1]\n\n" in events
        token = events.split(b"id: ")[1].split(b"\n")[0].decode()
        call.leave()
        users.topics.add("orders", b"a", b'{"AMOUNT": 2}')
        headers = {"last-event-id": token}
        again = Call(users, "/query-stream", headers=headers, method="GET", query=text)
        await again.until(b"data: [2]\n")
        again.leave()
        await asyncio.wait_for(asyncio.gather(call.task, again.task), 20)

    run(test)


def test_a_get_without_a_query_is_refused(users: QueryWorld) -> None:
    """So are properties that are no JSON."""

    async def test() -> None:
        for text in ("", "sql=x&properties=5", "sql=x&properties={"):
            call = Call(users, "/query-stream", method="GET", query=text)
            assert (await call.json())["error_code"] == 40000

    run(test)


def test_a_request_waits_for_its_sequence_number(users: QueryWorld) -> None:
    """The host knows when the command is done."""
    ask(users, "/query", query(ANN, commandSequenceNumber=7))
    assert users.host.waited == [7]


def test_variables_are_replaced(users: QueryWorld) -> None:
    """They stand in ``sessionVariables``; their plans are not shared."""
    for name, age in (("ann", 30), ("bob", 40)):
        body = stream("SELECT age FROM users WHERE id = '${who}';", sessionVariables={"who": name})
        _, text = ask(users, "/query-stream", body)
        assert orjson.loads(text.splitlines()[1]) == [age]


def test_print_shows_the_records_of_a_topic(users: QueryWorld) -> None:
    """Each on a line, as the stream or table over the topic reads it; see ``rest.printing``."""
    _, text = ask(users, "/query-stream", stream("PRINT users FROM BEGINNING LIMIT 1;"), DELIMITED)
    first, line = text.decode().splitlines()
    assert first == "topic: users, partitions: 1"
    assert line == ('rowtime: 1970/01/01 00:00:00.000 Z, key: ann, value: {"AGE":30}, partition: 0')


@pytest.mark.parametrize(
    ("timestamp", "shown"), [(-1, "N/A"), (1_700_000_000_000_000_000, "1700000000000000000 ms")]
)
def test_print_shows_records_with_any_time(users: QueryWorld, timestamp: int, shown: str) -> None:
    """A producer may count in nanoseconds, or have no time at all."""
    users.topics.create("strange")
    users.topics.add("strange", b"k", b"v", timestamp)
    users.topics.add("strange", b"next", b"v")
    status, text = ask(users, "/query", query("PRINT strange FROM BEGINNING LIMIT 2;"))
    _, line, behind = text.decode().splitlines()
    assert status == 200
    assert line == f"rowtime: {shown}, key: k, value: v, partition: 0"
    assert "next" in behind


def test_a_client_that_leaves_a_scan_frees_its_thread(
    users: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before the first row, while Kafka does not answer: others need the thread."""
    users.topics.add("orders", b"a", b"{}")

    def silent(reader: MemoryReader, timeout_s: float) -> list[RawRecord]:
        time.sleep(0.01)
        return []

    monkeypatch.setattr(MemoryReader, "read", silent)

    async def test() -> None:
        call = Call(users, "/query-stream", stream("SELECT * FROM orders WHERE amount = 1;"))
        while not users.topics.readers:
            await asyncio.sleep(0.01)
        call.leave()
        await asyncio.wait_for(call.task, 20)

    run(test)
    assert users.topics.readers == []


def test_weights_choose_the_form(users: QueryWorld) -> None:
    """As ksqlDB's reference has it: what weighs more is preferred, wherever it stands."""
    accept = f"application/json; q=0.5, {DELIMITED}; q=0.9"
    _, text = ask(users, "/query-stream", stream(ANN), accept)
    assert [orjson.loads(line) for line in text.splitlines()][1] == ["ann", 30]


def test_prints_have_a_limit(tmp_path: Path) -> None:
    """Each has a thread and a consumer of its own."""
    world = QueryWorld(tmp_path, {"ksql.max.push.queries": "1"})
    world.execute(TABLE)

    async def test() -> None:
        body = stream("PRINT users;")
        first = Call(world, "/query-stream", body, {"accept": DELIMITED})
        await first.until(b"topic: users")
        second = Call(world, "/query-stream", body, {"accept": DELIMITED})
        assert (await second.json())["error_code"] == 40003
        assert second.status == 429
        first.leave()
        await asyncio.wait_for(first.task, 60)
        world.topics.add("users", b"ann", b"{}")
        body = stream("PRINT users FROM BEGINNING LIMIT 1;")
        third = Call(world, "/query-stream", body, {"accept": DELIMITED})
        assert b"ann" in await third.text()

    try:
        run(test)
    finally:
        world.close()


@pytest.mark.parametrize(
    "token",
    [
        to_token({("secrets", 0): 0}),
        to_token({("orders", 7): 0}),
        to_token({("orders", 0): 0}, {("secrets", 0): 0}),
        to_token({("orders", 0): -2}),
    ],
)
def test_token_of_another_query_is_refused(users: QueryWorld, token: str) -> None:
    """Otherwise a token could name any topic of the cluster, and have it read."""
    users.topics.create("secrets")
    given = {"request.ksql.query.push.continuation.token": token}
    sql = "SELECT * FROM orders EMIT CHANGES LIMIT 1;"
    status, text = ask(users, "/query", query(sql, requestProperties=given))
    assert (status, orjson.loads(text)["error_code"]) == (400, 40000)


def test_queries_are_counted_by_kind_and_table(users: QueryWorld) -> None:
    """Errors that the plan makes are counted, too; see ``query_meter``."""
    ask(users, "/query", query(ANN))
    ask(users, "/query", query("SELECT * FROM users;"))
    found = {
        (m.name, m.tags.get("kind"), m.tags.get("source")): m.value
        for m in users.services.metrics()
    }
    assert found["pull-requests-total", "KEY_LOOKUP", "USERS"] == 1
    assert found["pull-rows-total", "TABLE_SCAN", "USERS"] == 2
    assert found["replica-lag", None, "USERS"] == 0


def test_many_rows_go_out_in_parts(users: QueryWorld) -> None:
    """A scan does not wait for its last row; see ``rest.threaded``."""
    for number in range(3000):
        users.topics.add("users", b"u%05d" % number, b'{"AGE": 1}')
    _, body = ask(users, "/query-stream", stream("SELECT id FROM users WHERE age = 1;"))
    assert len(body.splitlines()) == 3001


def test_a_client_that_leaves_ends_a_scan(users: QueryWorld) -> None:
    """The thread stops, and its place is free again."""
    for number in range(20000):
        users.topics.add("users", b"u%05d" % number, b'{"AGE": 1}')

    async def test() -> None:
        call = Call(users, "/query-stream", stream("SELECT id FROM users;"))
        await call.until(b"\n")
        call.leave()
        await asyncio.wait_for(call.task, 20)

    run(test)


def test_an_answer_from_a_cut_says_its_number(users: QueryWorld) -> None:
    """A header, a setting or the statement asks for a cut; its number reads it again."""
    found: list[Any] = []

    async def test() -> None:
        for headers, settings in (
            ({"penstock-cut": "latest"}, {}),
            ({}, {"penstock.read.cut": "latest"}),
        ):
            call = Call(users, "/query-stream", stream(ANN, properties=settings), headers)
            text = await call.text()
            number = int(call.headers[b"penstock-cut"])
            again = Call(users, "/query-stream", stream(ANN), {"penstock-cut": str(number)})
            named = Call(users, "/query-stream", stream(f"{ANN[:-1]} AS OF CUT {number};"))
            for each in (again, named):
                rows = (await each.text()).splitlines()[1:]
                assert (rows, each.status) == (text.splitlines()[1:], 200)
                assert int(each.headers[b"penstock-cut"]) == number
            found.append(number)
        without = Call(users, "/query-stream", stream(ANN))
        await without.text()
        assert b"penstock-cut" not in without.headers

    run(test)
    assert found == sorted(found)


def test_a_cut_that_does_not_exist_is_refused_before_the_first_row(users: QueryWorld) -> None:
    async def test() -> None:
        call = Call(users, "/query-stream", stream(ANN), {"penstock-cut": "12"})
        body = await call.json()
        assert (call.status, body["error_code"]) == (503, 50300)
        assert "no cut 12" in body["message"]

    run(test)
