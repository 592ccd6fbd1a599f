"""What a query's state means: lines of SQL, with rules for what happens when one changes."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sql.ast.expressions import Expression
from penstock.sql.planner.fingerprint import statement_of
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.planner.steps import Step
from penstock.sql.syntax.parser import parse_expression
from penstock.topology.upgrades.fingerprint import Rule
from tests.unit.sql.queries import ITEMS, ORDERS, engine_of


def lines(query: str, *before: str) -> dict[str, Rule]:
    engine = engine_of(ORDERS, ITEMS, *before, query)
    (plan,) = (each.plan for each in engine.queries.values() if each.sink == "X")
    return {line.text: line.rule for line in statement_of(plan).sections[0].lines}


def test_state_is_fixed_and_what_follows_depends_on_the_kind_of_the_result() -> None:
    """A table shows old rows, so that what follows its state is not free."""
    table = lines(
        "CREATE TABLE x AS SELECT item, COUNT(*) AS n FROM orders o WHERE o.price > 1"
        " GROUP BY item HAVING COUNT(*) > 2;"
    )
    assert table == {
        "FROM STREAM in topic 'orders', key JSON, value JSON": Rule.FIXED,
        "reads ITEM STRING": Rule.FIXED,
        "reads PRICE INTEGER": Rule.REPLACE,
        "WHERE PRICE > 1": Rule.REPLACE,
        "GROUP BY ITEM": Rule.FIXED,
        "aggregate COUNT(*)": Rule.FIXED,
        "HAVING COUNT(*) > 2": Rule.REPLACE,
        "SELECT COUNT(*)": Rule.REPLACE,
    }
    stream = lines("CREATE STREAM x AS SELECT id, price + 1 AS p FROM orders WHERE price > 1;")
    assert stream["WHERE PRICE > 1"] is Rule.FREE
    assert stream["SELECT PRICE + 1"] is Rule.FREE


def test_filter_over_a_table_is_fixed_where_old_rows_are_taken_back() -> None:
    """A plain table is only shown, and a stream looks rows up; an aggregate has folded them."""
    counted = lines("CREATE TABLE x AS SELECT kind, COUNT(*) AS n FROM items WHERE kind > 'a'"
                    " GROUP BY kind;")  # fmt: skip
    assert counted["WHERE KIND > 'a'"] is Rule.FIXED
    shown = lines("CREATE TABLE x AS SELECT name, kind FROM items WHERE kind > 'a';")
    assert shown["WHERE KIND > 'a'"] is Rule.REPLACE
    looked_up = lines(
        "CREATE TABLE x AS SELECT o.item AS item, COUNT(*) AS n FROM orders o"
        " JOIN (SELECT * FROM items WHERE kind > 'a') AS i ON o.item = i.name GROUP BY o.item;"
    )
    assert [rule for text, rule in looked_up.items() if "> 'a'" in text] == [Rule.REPLACE]


def test_clauses_beyond_ksqldb_are_lines() -> None:
    """Each of them has a line of its own, so that a change of it is seen."""
    union = lines("CREATE STREAM x AS SELECT id, item FROM orders WHERE price > 1"
                  " UNION ALL SELECT id, item FROM orders;")  # fmt: skip
    assert union["UNION ALL of 2"] is Rule.FIXED
    assert union["WHERE PRICE > 1"] is Rule.FREE
    assert lines("CREATE STREAM x AS SELECT name, kind FROM CHANGES(items);")["CHANGES"]
    ttl = ITEMS.replace("TABLE items", "TABLE short").replace("WITH (", "WITH (ROW_TTL='1 DAY', ")
    assert lines("CREATE TABLE x AS SELECT name, kind FROM short;", ttl)["ROW_TTL 1 DAYS"] is (
        Rule.REPLACE
    )


def test_join_of_streams_keeps_whole_rows() -> None:
    """A column that no expression uses is in the store all the same."""
    others = ORDERS.replace("orders", "others")
    found = lines(
        "CREATE STREAM x AS SELECT a.id AS id, a.item AS item FROM orders a"
        " JOIN others b WITHIN 120 SECONDS ON a.id = b.id;",
        others,
    )
    assert found["reads `others`.PRICE INTEGER"] is Rule.FIXED
    assert found["INNER JOIN WITHIN 2 MINUTES"] is Rule.FIXED


def test_inner_query_is_part_of_the_state_of_the_outer_one() -> None:
    """Its alias is only a name."""
    query = (
        "CREATE TABLE x AS SELECT item, SUM(p) AS s"
        " FROM (SELECT id, item, price * 2 AS p FROM orders) AS {0} GROUP BY item;"
    )
    found = lines(query.format("inner_one"))
    assert found == lines(query.format("another"))
    assert [rule for text, rule in found.items() if "PRICE * 2" in text] == [Rule.FIXED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Odd(Step):
    """A step that nobody has told the fingerprint about."""

    input: Step
    by: tuple[Expression, ...]
    rows: int


def test_step_that_is_not_known_is_compared_as_a_whole() -> None:
    """A new clause must not be overlooked: it is fixed, and so is everything before it."""
    query = "CREATE STREAM x AS SELECT id, item FROM orders WHERE price > 1;"
    (found,) = engine_of(ORDERS, query).queries.values()
    plan, last = found.plan, found.plan.step
    step = Odd(
        name="Odd", columns=last.columns, key=last.key, key_format=last.key_format, window=None,
        is_table=False, input=last, by=(parse_expression("item"),), rows=3,
    )  # fmt: skip
    odd = statement_of(QueryPlan(plan.id, step, plan.columns, plan.sink)).sections[0].lines
    assert odd[-1].text == "Odd by (ITEM), rows 3"
    assert [line.rule for line in odd if "SELECT" in line.text] == [Rule.FIXED]
