"""The SQL tests in this folder, as ``penstock sql test`` runs them.

Exercises ``row_fold``, ``aggregates.distinct``, ``join_conditions``, ``lowering.column_forms`` and
``kafka_columns``.
"""

from pathlib import Path

import pytest

from penstock.sql import SqlEngine
from penstock.testing.sql.sections import Section, sections_of
from penstock.testing.sql.session import TestSession

_FOLDER = Path(__file__).parent
_SECTIONS = [
    pytest.param(section, id=f"{file.stem}: {section.name}")
    for file in sorted(_FOLDER.glob("*.sql"))
    for section in sections_of(file.read_text(encoding="utf-8"), file.stem)
]


@pytest.mark.parametrize("over_columns", [False, True], ids=["records", "columns"])
@pytest.mark.parametrize("section", _SECTIONS)
def test_sql_files_pass(section: Section, *, over_columns: bool) -> None:
    """What the statements assert holds, by record and over columns."""
    session = TestSession(SqlEngine(), _FOLDER, over_columns=over_columns)
    assert session.problem(section) is None
