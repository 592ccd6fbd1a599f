"""SQL tests statement by statement: which text an error points into."""

from pathlib import Path

import pytest

from penstock.sql import SqlEngine
from penstock.testing.sql.sections import sections_of
from penstock.testing.sql.session import TestSession

INNER = """CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM x AS SELECT id, nope FROM s;
"""
OUTER = "--@test: outer\n\n-- a comment\nRUN SCRIPT '{}';\n"


@pytest.mark.parametrize("through", ["inner.sql", "middle.sql"])
def test_error_in_a_script_that_is_run_points_into_that_script(
    tmp_path: Path, through: str
) -> None:
    """However deep the scripts are: the line of the outer one would be any line."""
    (tmp_path / "inner.sql").write_text(INNER)
    (tmp_path / "middle.sql").write_text("\n\nRUN SCRIPT 'inner.sql';")
    (section,) = sections_of(OUTER.format(through), "test")
    problem = TestSession(SqlEngine(), tmp_path).problem(section)
    assert problem is not None
    assert "at:  inner.sql, line 2, column " in problem
    assert "SELECT id, nope FROM s" in problem


def test_script_that_cannot_be_read_points_to_the_statement(tmp_path: Path) -> None:
    (section,) = sections_of(OUTER.format("none.sql"), "test")
    problem = TestSession(SqlEngine(), tmp_path).problem(section)
    assert problem is not None
    assert "[unreadable-script]" in problem
    assert "line 4, column 1" in problem
