"""Plans with parameters: ``plan_cache``, ``prepared`` and ``parameters`` together."""

from collections.abc import Sequence

import pytest

from penstock.errors import PenstockError
from penstock.server.pull.plan_cache import BoundPull, PlanCache
from penstock.server.pull.prepared import PreparedPull, prepare
from penstock.sql import SqlEngine
from penstock.sql.pull.parameters import Parameters
from penstock.sql.pull.plans import KeyLookup, RangeScan, TableScan
from penstock.sql.pull.shape import Literal, shape_of

TABLES = """
    CREATE TABLE users (id VARCHAR PRIMARY KEY, age INT, city VARCHAR)
        WITH (KAFKA_TOPIC='users', PARTITIONS=1, VALUE_FORMAT='JSON');
    CREATE TABLE visits (id INT PRIMARY KEY, n BIGINT)
        WITH (KAFKA_TOPIC='visits', PARTITIONS=1, VALUE_FORMAT='JSON',
              WINDOW_TYPE='TUMBLING', WINDOW_SIZE='1 SECOND');
"""


def lookup(bound: BoundPull) -> KeyLookup:
    plan = bound.prepared.plan
    assert isinstance(plan, KeyLookup)
    return plan


@pytest.fixture
def engine() -> SqlEngine:
    made = SqlEngine()
    made.execute(TABLES)
    return made


class Plans:
    """A cache, and how often something had to be planned."""

    def __init__(self, engine: SqlEngine) -> None:
        self.engine, self.cache, self.planned = engine, PlanCache(), 0

    def bound(self, sql: str, **properties: str) -> BoundPull:
        catalog = self.engine.catalog
        self.cache.is_current(catalog)
        found, shape = self.cache.find(sql, properties)
        if found is not None:
            return found
        self.planned += 1
        session = self.engine.session(properties)
        return self.cache.planned(
            shape, properties, lambda given: prepare(session, sql, given), catalog
        )


def test_another_key_needs_no_other_plan(engine: SqlEngine) -> None:
    """Keys are parameters: the second statement is answered by the plan of the first."""
    plans = Plans(engine)
    first = plans.bound("SELECT * FROM users WHERE id = 'ann';")
    second = plans.bound("SELECT * FROM users WHERE id = 'bob';")
    assert second.prepared is first.prepared
    assert plans.planned == 1
    assert lookup(second).key_values(second.literals) == [("bob",)]


def test_literals_of_conditions_are_parameters(engine: SqlEngine) -> None:
    """The condition that is left to check takes the literals of each statement."""
    plans = Plans(engine)
    sql = "SELECT id FROM users WHERE id IN ('ann', 'bob') AND age > {} AND city <> '{}';"
    plans.bound(sql.format(3, "Rome"))
    bound = plans.bound(sql.format(30, "Oslo"))
    assert plans.planned == 1
    test = lookup(bound).reading.test
    assert test is not None
    values = [literal.value for literal in bound.literals]

    def holds(age: int, city: str) -> bool:
        return test((age, city, 0, 0, 0, "ann"), values)

    assert [holds(31, "Rome"), holds(30, "Rome"), holds(31, "Oslo")] == [True, False, False]


def test_bounds_of_windows_are_parameters(engine: SqlEngine) -> None:
    """A question about the last minutes is planned once, not each time it is asked."""
    plans = Plans(engine)
    sql = "SELECT * FROM visits WHERE id = 1 AND WINDOWSTART >= {};"
    plans.bound(sql.format(1000))
    bound = plans.bound(sql.format(5000))
    assert plans.planned == 1
    assert lookup(bound).start_range(bound.literals) == (5000, None)


def test_other_literals_make_another_plan(engine: SqlEngine) -> None:
    """LIMIT, literals in SELECT and bounds of key ranges are part of a plan."""
    plans = Plans(engine)
    for sql in (
        "SELECT id, 1 AS one FROM users WHERE id = 'a' LIMIT 1;",
        "SELECT id, 2 AS one FROM users WHERE id = 'a' LIMIT 1;",
        "SELECT id, 2 AS one FROM users WHERE id = 'a' LIMIT 2;",
        "SELECT id FROM users WHERE id > 'a';",
        "SELECT id FROM users WHERE id > 'b';",
    ):
        plans.bound(sql)
    assert plans.planned == 5
    found = plans.bound("SELECT id FROM users WHERE id > 'b';").prepared.plan
    assert isinstance(found, RangeScan)
    assert plans.planned == 5


def test_plans_end_when_the_catalog_changes(engine: SqlEngine) -> None:
    """A new table ends all plans; INSERT VALUES changes nothing that plans depend on."""
    plans = Plans(engine)
    sql = "SELECT * FROM users WHERE id = 'ann';"
    plans.bound(sql)
    engine.execute("INSERT INTO users (id, age) VALUES ('ann', 3);")
    plans.bound(sql)
    assert plans.planned == 1
    engine.execute("DROP TABLE visits;")
    plans.bound(sql)
    assert plans.planned == 2


def test_a_plan_of_an_older_catalog_is_not_kept(engine: SqlEngine) -> None:
    """The catalog may change while a statement is planned."""
    cache, sql = PlanCache(), "SELECT * FROM users WHERE id = 'ann';"
    old = engine.catalog
    cache.is_current(old)
    session = engine.session()

    def plan(literals: Sequence[Literal]) -> PreparedPull:
        engine.execute("DROP TABLE visits;")
        cache.is_current(engine.catalog)
        return prepare(session, sql, literals)

    cache.planned(shape_of(sql), {}, plan, old)
    assert cache.find(sql, {})[0] is None


def test_a_request_cannot_allow_what_the_server_forbids() -> None:
    """It can only forbid more, as in ksqlDB."""
    setting = "ksql.query.pull.table.scan.enabled"
    strict = SqlEngine({setting: "false"})
    strict.execute(TABLES)
    with pytest.raises(PenstockError, match="would read all rows of USERS"):
        Plans(strict).bound("SELECT * FROM users;", **{setting: "true"})


def test_groups_need_a_scan(engine: SqlEngine) -> None:
    """A GROUP BY reads all rows, so it is refused where that is forbidden."""
    off = {"ksql.query.pull.table.scan.enabled": "false"}
    with pytest.raises(PenstockError, match="would read all rows of USERS"):
        Plans(engine).bound("SELECT age, COUNT(*) FROM users GROUP BY age;", **off)


def test_settings_are_part_of_a_plan(engine: SqlEngine) -> None:
    """A plan that one request may use, another may be refused."""
    plans = Plans(engine)
    plans.bound("SELECT * FROM users;")
    with pytest.raises(PenstockError, match="would read all rows of USERS"):
        plans.bound("SELECT * FROM users;", **{"ksql.query.pull.table.scan.enabled": "false"})


def test_a_range_is_a_scan_if_ranges_are_forbidden(engine: SqlEngine) -> None:
    """As in ksqlDB: with neither of them a range is refused."""
    plans = Plans(engine)
    off = {"ksql.query.pull.range.scan.enabled": "false"}
    bound = plans.bound("SELECT * FROM users WHERE id > 'a';", **off)
    assert isinstance(bound.prepared.plan, TableScan)
    with pytest.raises(PenstockError, match="would read all rows"):
        plans.bound(
            "SELECT * FROM users WHERE id > 'a';",
            **off, **{"ksql.query.pull.table.scan.enabled": "false"},
        )  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "sql"),
    [
        ("ksql.query.pull.limit.clause.enabled", "SELECT * FROM users LIMIT 3;"),
        ("ksql.pull.queries.enable", "SELECT * FROM users;"),
    ],
)
def test_settings_refuse_what_they_disable(engine: SqlEngine, setting: str, sql: str) -> None:
    """The error names the setting."""
    with pytest.raises(PenstockError, match=setting):
        Plans(engine).bound(sql, **{setting: "false"})


def test_the_header_marks_keys_of_tables(engine: SqlEngine) -> None:
    """Window bounds are a part of the key; computed columns are not."""
    plans = Plans(engine)
    assert plans.bound("SELECT * FROM visits WHERE id = 1;").prepared.schema == (
        "`ID` INTEGER KEY, `WINDOWSTART` BIGINT KEY, `WINDOWEND` BIGINT KEY, `N` BIGINT"
    )
    assert plans.bound("SELECT id, n + 1 AS m, ROWTIME FROM visits;").prepared.schema == (
        "`ID` INTEGER KEY, `M` BIGINT, `ROWTIME` BIGINT"
    )


def test_a_number_with_a_sign_is_no_parameter(engine: SqlEngine) -> None:
    """The minus stands outside the literal, so its value is not the number in the text."""
    plans = Plans(engine)
    plans.bound("SELECT * FROM visits WHERE id = -1;")
    bound = plans.bound("SELECT * FROM visits WHERE id = -2;")
    assert lookup(bound).key_values(bound.literals) == [(-2,)]
    assert Parameters(()).used == set()
