"""EX-05: a pull query and a push query about one user."""

import re

from penstock.sql import SqlEngine
from penstock.sql.results import PullResult
from tests.examples.play import EXAMPLES, assert_sql_test_passes

FOLDER = EXAMPLES / "user_counts_sql"


def test_script_writes_the_expected_records() -> None:
    """As ``penstock sql test`` sees it."""
    assert_sql_test_passes("user_counts_sql")


def test_pull_query_answers_once_and_push_query_follows() -> None:
    """42 views of alice are an answer; the next two are changes."""
    script = (FOLDER / "app.sql").read_text(encoding="utf-8")
    tables, pull, push = re.split(r"(?=^SELECT)", script, flags=re.MULTILINE)
    engine = SqlEngine()
    engine.execute(tables)
    queries = engine.local()
    view = "INSERT INTO page_views (user_id, page) VALUES ('alice', '/home');"
    engine.execute(view * 42)
    (pulled,) = engine.execute(pull)
    assert isinstance(pulled, PullResult)
    assert [list(row) for row in pulled.rows] == [["alice", 42]]
    following = queries.subscribe(engine.query(push))
    before = len(following.rows)
    engine.execute(view * 2)
    assert [list(row.values()) for row in following.rows[before:]] == [["alice", 43], ["alice", 44]]
    queries.close()
