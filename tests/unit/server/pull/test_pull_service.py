"""Pull queries over replicas: ``pull.service``, ``sql.pull.plans``, ``pull.replica`` and
``pull.replicas``."""

from pathlib import Path

import orjson
import pytest

from penstock.errors import PenstockError
from penstock.registry.registry import LogRegistry
from penstock.registry.schemas import RegistryUnavailableError
from penstock.server import reading
from penstock.server.positions import to_token
from penstock.server.pull.service import CONSISTENCY, MAX_LAG, TOKENS_ENABLED, Freshness
from penstock.sql.pull.shape import shape_of
from tests.unit.server.query_memory import QueryWorld

USERS = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT)
        WITH (KAFKA_TOPIC='users', PARTITIONS=2, VALUE_FORMAT='JSON');
"""
VISITS = """
    CREATE TABLE visits (id VARCHAR PRIMARY KEY, n INT)
        WITH (KAFKA_TOPIC='visits', PARTITIONS=1, VALUE_FORMAT='JSON',
              WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 SECOND');
"""
ANY = Freshness()


def rows(world: QueryWorld, sql: str, fresh: Freshness = ANY, **properties: object) -> list[object]:
    """Answer a query as the server does: at once if it can, else in a thread."""
    bound = world.services.pull.plan(sql, properties, {})
    found = world.services.pull.at_once(bound, fresh)
    return list(world.services.pull.rows(bound, fresh) if found is None else found)


def add_user(world: QueryWorld, name: str, age: int | None, time: int = 0) -> None:
    value = None if age is None else orjson.dumps({"AGE": age})
    world.topics.add("users", name.encode(), value, time)


def add_visit(world: QueryWorld, name: str, start: int, n: int) -> None:
    key = name.encode() + start.to_bytes(8, "big")
    world.topics.add("visits", key, orjson.dumps({"N": n}), start + 5)


@pytest.fixture
def users(world: QueryWorld) -> QueryWorld:
    world.execute(USERS, partitions=2)
    for number, name in enumerate(["ann", "bob", "cid", "dan"]):
        add_user(world, name, 20 + number, 100 + number)
    return world


def test_the_first_question_waits_for_all_rows(users: QueryWorld) -> None:
    """A replica answers only when it has everything that was there when it was opened."""
    assert rows(users, "SELECT * FROM users WHERE id = 'bob';") == [("bob", 21)]
    assert rows(users, "SELECT * FROM users WHERE id = 'eve';") == []


def test_updates_and_deletions_are_followed(users: QueryWorld) -> None:
    """The replica goes on reading; the newest record of a key is its row."""
    assert rows(users, "SELECT age FROM users WHERE id = 'ann';") == [(20,)]
    add_user(users, "ann", 99)
    add_user(users, "bob", None)
    replica = users.services.replicas.all()[0]
    ends = users.topics.ends(users.topics.places(["users"]))
    assert replica.wait(ends, 20)
    assert rows(users, "SELECT age FROM users WHERE id = 'ann';") == [(99,)]
    assert rows(users, "SELECT age FROM users WHERE id = 'bob';") == []


def test_a_key_that_is_too_short_for_a_window_is_no_row(world: QueryWorld) -> None:
    """Another program may write anything to a topic; the rows around it are found."""
    world.execute(VISITS)
    add_visit(world, "ann", 1000, 1)
    world.topics.add("visits", b"short", b'{"N": 2}')
    add_visit(world, "bob", 1000, 3)
    assert rows(world, "SELECT n FROM visits WHERE id = 'bob';") == [(3,)]
    add_visit(world, "bob", 1000, 4)
    ends = world.topics.ends(world.topics.places(["visits"]))
    assert world.services.replicas.all()[0].wait(ends, 20)
    assert rows(world, "SELECT n FROM visits WHERE id = 'bob';") == [(4,)]


def test_a_replica_that_breaks_is_made_anew(users: QueryWorld) -> None:
    """It must not answer for ever with the rows that it had when its thread ended."""
    assert rows(users, "SELECT age FROM users WHERE id = 'ann';") == [(20,)]
    broken = users.services.replicas.all()[0]
    users.topics.readers[0].failure = OSError("the disk is full")
    add_user(users, "ann", 99)
    with pytest.raises(PenstockError, match="the disk is full"):
        broken.wait({("users", 0): 100, ("users", 1): 100}, 20)
    assert rows(users, "SELECT age FROM users WHERE id = 'ann';") == [(99,)]
    assert users.services.replicas.all() != [broken]


def test_a_replica_of_a_topic_with_new_partitions_is_made_anew(
    users: QueryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key of a new partition would have no row."""
    monkeypatch.setattr(reading, "_WATCH_S", 0.0)
    assert rows(users, "SELECT age FROM users WHERE id = 'ann';") == [(20,)]
    old = users.services.replicas.all()[0]
    users.topics.partitions["users"].append([])
    with pytest.raises(PenstockError, match="3 partitions now, and had 2"):
        old.wait({("users", 2): 1}, 20)
    names = [f"user-{number}" for number in range(9)]
    for name in names:
        add_user(users, name, 7)
    assert all(users.topics.partitions["users"])
    assert [rows(users, f"SELECT age FROM users WHERE id = '{n}';") for n in names] == [[(7,)]] * 9


def test_a_replica_is_eager_only_until_it_is_complete(users: QueryWorld) -> None:
    """Whoever asks first waits for its end; later it must not ask the broker all the time."""
    assert rows(users, "SELECT age FROM users WHERE id = 'ann';") == [(20,)]
    add_user(users, "ann", 99)
    replica = users.services.replicas.all()[0]
    assert replica.wait(users.topics.ends(users.topics.places(["users"])), 20)
    assert users.topics.eager == [True, False]
    assert [reader.is_eager for reader in users.topics.readers] == [False]


def test_a_scan_of_a_stream_waits_for_its_end_eagerly(world: QueryWorld) -> None:
    """Markers of transactions stand behind the last row, so only the broker knows the end."""
    world.execute(
        "CREATE STREAM orders (id VARCHAR KEY, amount INT)"
        " WITH (KAFKA_TOPIC='orders', PARTITIONS=1, VALUE_FORMAT='JSON');"
    )
    world.topics.add("orders", b"a", b'{"AMOUNT": 1}')
    assert rows(world, "SELECT amount FROM orders;") == [(1,)]
    assert world.topics.eager == [True]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM users WHERE id IN ('dan', 'ann', 'nobody');", [("dan",), ("ann",)]),
        ("SELECT id FROM users WHERE id >= 'b' AND id < 'd';", [("bob",), ("cid",)]),
        ("SELECT id FROM users WHERE age > 21;", [("cid",), ("dan",)]),
        ("SELECT id FROM users LIMIT 2;", [("ann",), ("bob",)]),
        ("SELECT id FROM users ORDER BY age DESC LIMIT 2 OFFSET 1;", [("cid",), ("bob",)]),
        ("SELECT age, COUNT(*) AS n FROM users WHERE age < 22 GROUP BY age;", [(20, 1), (21, 1)]),
        ("SELECT ROWTIME, age FROM users WHERE id = 'cid';", [(102, 22)]),
        ("SELECT DISTINCT age > 21 AS old FROM users ORDER BY old;", [(False,), (True,)]),
        ("SELECT id FROM users WHERE id LIKE '%n%';", [("ann",), ("dan",)]),
    ],
)
def test_every_kind_of_plan_answers(
    users: QueryWorld, sql: str, expected: list[tuple[object, ...]]
) -> None:
    """By key, by range, by scan, sorted, and through a topology."""
    assert rows(users, sql) == expected


def test_joins_go_the_general_way(users: QueryWorld) -> None:
    """A join reads all rows of both tables and runs the topology over them."""
    users.execute(
        "CREATE TABLE cities (id VARCHAR PRIMARY KEY, city VARCHAR)"
        " WITH (KAFKA_TOPIC='cities', PARTITIONS=2, VALUE_FORMAT='JSON');",
        partitions=2,
    )
    users.topics.add("cities", b"bob", b'{"CITY": "Oslo"}')
    sql = "SELECT u.id AS id, city FROM users u JOIN cities c ON u.id = c.id;"
    assert rows(users, sql) == [("bob", "Oslo")]


def test_streams_are_read_to_their_present_end(world: QueryWorld) -> None:
    """A query over a stream ends; a record that cannot be read is skipped."""
    world.execute("CREATE STREAM s (k VARCHAR KEY, n INT) WITH (KAFKA_TOPIC='s', PARTITIONS=1,"
                  " VALUE_FORMAT='JSON');")  # fmt: skip
    for value in (b'{"N": 1}', b"{broken", b'{"N": 3}', None, b'{"N": 4}'):
        world.topics.add("s", b"k", value)
    assert rows(world, "SELECT n FROM s WHERE n <> 3;") == [(1,), (4,)]
    assert rows(world, "SELECT n FROM s LIMIT 1;") == [(1,)]
    assert world.topics.readers == []


@pytest.mark.parametrize("kind", ["STREAM", "TABLE"])
def test_a_record_is_not_skipped_when_the_registry_cannot_be_reached(
    world: QueryWorld, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The record may be a good one, and the answer would lack its row without a word."""
    key = "KEY" if kind == "STREAM" else "PRIMARY KEY"
    world.execute(f"CREATE {kind} s (k VARCHAR {key}, n INT)"
                  " WITH (KAFKA_TOPIC='s', PARTITIONS=1, VALUE_FORMAT='AVRO');")  # fmt: skip
    world.topics.add("s", b"k", b"\0\0\0\0\x63\2\2")

    def away(registry: LogRegistry, schema_id: int) -> None:
        raise RegistryUnavailableError("registry-unavailable", f"no answer about {schema_id}")

    monkeypatch.setattr(LogRegistry, "by_id", away)
    with pytest.raises(RegistryUnavailableError, match="no answer about 99"):
        rows(world, "SELECT n FROM s;")


def test_windows_of_a_key_are_found_by_their_starts(world: QueryWorld) -> None:
    """A key is not taken for another one that begins with the same bytes."""
    world.execute(VISITS)
    for name, start in (("a", 0), ("a", 1000), ("a", 2000), ("ab", 1000)):
        add_visit(world, name, start, start // 1000)
    sql = "SELECT WINDOWSTART, WINDOWEND, n FROM visits WHERE id = 'a'"
    assert rows(world, f"{sql};") == [(0, 1000, 0), (1000, 2000, 1), (2000, 3000, 2)]
    assert rows(world, f"{sql} AND WINDOWSTART > 0 AND WINDOWSTART < 2000;") == [(1000, 2000, 1)]
    assert rows(world, f"{sql} AND WINDOWEND <= 1000;") == [(0, 1000, 0)]
    assert rows(world, f"{sql} AND WINDOWSTART = '1970-01-01T00:00:02';") == [(2000, 3000, 2)]
    assert len(rows(world, "SELECT * FROM visits;")) == 4


def test_rows_end_with_their_time_to_live(world: QueryWorld) -> None:
    """A row of a table with ROW_TTL is there until the time of its partition has passed it."""
    world.execute("CREATE TABLE t (k VARCHAR PRIMARY KEY, n INT) WITH (KAFKA_TOPIC='t',"
                  " PARTITIONS=1, VALUE_FORMAT='JSON', ROW_TTL='1 SECOND');")  # fmt: skip
    world.topics.add("t", b"old", b'{"N": 1}', 0)
    world.topics.add("t", b"new", b'{"N": 2}', 1000)
    assert rows(world, "SELECT k FROM t;") == [("new",)]
    assert rows(world, "SELECT k FROM t WHERE k = 'old';") == []


def test_an_answer_can_be_demanded_at_a_position(users: QueryWorld) -> None:
    """A token of an answer names what it contains; the next answer contains it, too."""
    pull = users.services.pull
    bound = pull.plan("SELECT * FROM users WHERE id = 'ann';", {}, {})
    assert list(pull.rows(bound, ANY)) == [("ann", 20)]
    add_user(users, "ann", 50)
    ends = users.topics.ends(users.topics.places(["users"]))
    fresh = pull.freshness(bound, {}, {CONSISTENCY: to_token(ends)})
    assert list(pull.rows(bound, fresh)) == [("ann", 50)]
    assert pull.positions(bound) == ends
    assert pull.freshness(bound, {TOKENS_ENABLED: "true"}, {}).sends_token


def test_an_answer_that_is_too_old_is_refused(users: QueryWorld) -> None:
    """With a bound on the lag, a replica that is further behind does not answer."""
    bound = users.services.pull.plan("SELECT * FROM users WHERE id = 'ann';", {}, {})
    replica = users.services.replicas.of(users.host.engine.sources["USERS"], 20)
    replica._ends = {place: end + 100 for place, end in replica.positions.items()}
    fresh = users.services.pull.freshness(bound, {MAX_LAG: 5}, {})
    assert users.services.pull.at_once(bound, fresh) is None
    with pytest.raises(PenstockError, match="200 offsets behind"):
        users.services.pull.rows(bound, fresh)


def test_a_token_that_is_none_is_refused(users: QueryWorld) -> None:
    """Tokens come from this server; anything else is an error of the request."""
    bound = users.services.pull.plan("SELECT * FROM users;", {}, {})
    with pytest.raises(PenstockError, match="token cannot be read"):
        users.services.pull.freshness(bound, {}, {CONSISTENCY: "x"})


def test_a_dropped_table_takes_its_replica_along(users: QueryWorld, tmp_path: Path) -> None:
    """After DROP and CREATE the rows are those of the new table's topic."""
    sql = "SELECT * FROM users WHERE id = 'ann';"
    assert rows(users, sql) == [("ann", 20)]
    users.execute("DROP TABLE users;")
    # Any question closes it, however the new catalog is noticed.
    assert users.services.pull.cached("SELECT * FROM others;", {}, {}) is None
    with pytest.raises(PenstockError, match="does not exist"):
        rows(users, "SELECT * FROM others;")
    assert users.services.replicas.all() == []
    del users.topics.partitions["users"]
    users.execute(USERS, partitions=2)
    assert rows(users, sql) == []
    assert len(users.services.replicas.all()) == 1


def test_what_a_killed_server_left_is_deleted(users: QueryWorld, tmp_path: Path) -> None:
    """Folders of processes that are gone go, those of others stay."""
    base = tmp_path / "penstock-replicas"
    (base / "99999999-x").mkdir(parents=True)
    (base / "1-y").mkdir()
    users.services.replicas.start()
    assert [folder.name for folder in base.iterdir()] == ["1-y"]
    (base / "1-y").rmdir()


def test_limits_refuse_with_too_many_requests(tmp_path: Path) -> None:
    """As in ksqlDB: a bound on requests at a time and on requests in a second."""
    settings = {
        "ksql.query.pull.max.concurrent.requests": "1",
        "ksql.query.pull.max.qps": "2",
    }
    world = QueryWorld(tmp_path, settings)
    pull = world.services.pull
    pull.enter()
    with pytest.raises(PenstockError, match="under way"):
        pull.enter()
    pull.leave()

    def many() -> None:
        for _ in range(10):
            pull.enter()
            pull.leave()

    with pytest.raises(PenstockError, match=r"max\.qps"):
        many()
    world.close()


def test_a_lookup_is_answered_at_once_when_the_replica_is_there(users: QueryWorld) -> None:
    """The event loop may answer a lookup by itself, but nothing that reads many rows."""
    pull = users.services.pull
    bound = pull.plan("SELECT * FROM users WHERE id = 'ann';", {}, {})
    assert pull.at_once(bound, ANY) is None
    list(pull.rows(bound, ANY))
    assert pull.at_once(bound, ANY) == [("ann", 20)]
    assert pull.at_once(pull.plan("SELECT * FROM users;", {}, {}), ANY) is None


@pytest.mark.parametrize(
    "query",
    [
        "SELECT REGEXP_EXTRACT('(a+)+b', id) FROM users WHERE id = 'ann';",
        "SELECT * FROM users WHERE id = 'ann' AND id LIKE '%n';",
        f"SELECT * FROM users WHERE id IN ({','.join(map(repr, map(str, range(101))))});",
    ],
)
def test_a_lookup_that_may_take_long_is_left_to_a_thread(users: QueryWorld, query: str) -> None:
    """While the event loop answers, it answers nobody else."""
    pull = users.services.pull
    bound = pull.plan(query, {}, {})
    assert list(pull.rows(bound, ANY)) == [] or "ann" in query
    assert pull.at_once(bound, ANY) is None


def test_a_key_with_many_windows_is_left_to_a_thread(world: QueryWorld) -> None:
    """One key of a windowed table may have thousands of rows."""
    world.execute(VISITS)
    for start in range(101):
        add_visit(world, "ann", start * 1000, start)
        add_visit(world, "bob" * (start == 0) or "eve", start * 1000, start)
    pull = world.services.pull
    many = pull.plan("SELECT n FROM visits WHERE id = 'ann';", {}, {})
    assert len(list(pull.rows(many, ANY))) == 101
    assert pull.at_once(many, ANY) is None
    few = pull.plan("SELECT n FROM visits WHERE id = 'ann' AND WINDOWSTART < 1000;", {}, {})
    assert pull.at_once(few, ANY) == [(0,)]


def test_a_long_statement_is_not_looked_up_on_the_event_loop(users: QueryWorld) -> None:
    sql = f"SELECT * FROM users WHERE id = 'ann' AND id <> '{'x' * 20_000}';"
    users.services.pull.plan(sql, {}, {})
    assert users.services.pull.cached(sql, {}, {}) is None


def test_a_plan_is_found_again_without_planning(users: QueryWorld) -> None:
    """``cached`` finds what ``plan`` has made, for any literal."""
    pull = users.services.pull
    pull.plan("SELECT * FROM users WHERE id = 'ann';", {}, {})
    found = pull.cached("SELECT * FROM users WHERE id = 'zoe';", {}, {})
    assert found is not None
    shape = shape_of("SELECT * FROM users WHERE id = 'zoe';")
    assert shape is not None
    assert found.literals == shape.literals
    assert pull.cached("SELECT age FROM users WHERE id = 'zoe';", {}, {}) is None


def test_header_columns_of_tables_are_kept(world: QueryWorld) -> None:
    """The replica keeps the headers of records if a column asks for them."""
    world.execute("CREATE TABLE t (k VARCHAR PRIMARY KEY, n INT, h BYTES HEADER('h'))"
                  " WITH (KAFKA_TOPIC='t', PARTITIONS=1, VALUE_FORMAT='JSON');")  # fmt: skip
    world.topics.add("t", b"a", b'{"N": 1}', 0, (("h", b"x"), ("other", None)))
    assert rows(world, "SELECT * FROM t WHERE k = 'a';") == [("a", 1, b"x")]
