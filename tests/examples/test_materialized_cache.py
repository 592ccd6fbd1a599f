"""KD-75: two views of calls, asked by name."""

import json
import re

from penstock.sql import SqlEngine
from penstock.sql.results import PullResult
from tests.examples.play import EXAMPLES, assert_sql_test_passes

FOLDER = EXAMPLES / "materialized_cache"


def test_views_follow_the_calls() -> None:
    """Each call is a new row of both views."""
    assert_sql_test_passes("materialized_cache")


def test_views_answer_by_name() -> None:
    """The newest rows, and none of anybody else."""
    script = (FOLDER / "app.sql").read_text(encoding="utf-8")
    tables, support, lifetime = re.split(r"(?=^SELECT)", script, flags=re.MULTILINE)
    engine = SqlEngine()
    engine.execute(tables)
    queries = engine.local()
    for each in json.loads((FOLDER / "data.json").read_text(encoding="utf-8"))["inputs"]:
        values = ", ".join(repr(value) for value in each["value"].values())
        engine.execute(f"INSERT INTO calls ({', '.join(each['value'])}) VALUES ({values});")
    for question, expected in ((support, ["derek", 2, "refund"]), (lifetime, ["michael", 3, 6])):
        (answer,) = engine.execute(question)
        assert isinstance(answer, PullResult)
        assert [list(row) for row in answer.rows] == [expected]
    queries.close()
