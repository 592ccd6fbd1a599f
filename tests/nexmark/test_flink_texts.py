"""Flink's texts of the Nexmark queries: which are accepted as they stand, and what they return."""

import pytest

from bench.nexmark.compare import differences
from bench.nexmark.duck import Duck
from bench.nexmark.queries import FLINK_NAMES, flink, sources
from penstock.sql import SqlEngine, SqlError, udf
from tests.nexmark.in_process import InProcess
from tests.nexmark.test_nexmark import EVENTS, SIDE_INPUT

#: What is refused, with the code of the error.
REFUSED = {"q6": "not-supported", "q7": "join-on-non-key", "q12": "not-supported"}
ACCEPTED = [name for name in FLINK_NAMES if name not in REFUSED]


@udf
def count_char(text: str, char: str) -> int:
    """Flink's benchmark brings this function, too."""
    return text.count(char)


def _engine() -> SqlEngine:
    engine = SqlEngine(functions=(count_char,))
    engine.execute(sources())
    return engine


@pytest.mark.parametrize("name", ACCEPTED)
def test_text_is_accepted(name: str) -> None:
    plan = _engine().query(flink(name).rstrip(";\n") + " EMIT CHANGES;").plan
    assert plan.columns


@pytest.mark.parametrize("name", REFUSED)
def test_other_text_is_refused_with_what_to_write(name: str) -> None:
    with pytest.raises(SqlError) as refused:
        _engine().query(flink(name).rstrip(";\n") + " EMIT CHANGES;")
    assert (refused.value.code, bool(refused.value.fix)) == (REFUSED[name], True)


@pytest.mark.parametrize("name", ["q5", "q8", "q9", "q11", "q15", "q16", "q17", "q18", "q19"])
def test_accepted_text_has_the_rows_of_duckdb(name: str) -> None:
    create = f"CREATE TABLE {name} WITH (KEY_FORMAT='JSON') AS {flink(name)}"
    duck = Duck(EVENTS, SIDE_INPUT)
    found = InProcess(EVENTS, SIDE_INPUT, vectorize="off").rows_of(sources() + create, name)
    assert differences(found, duck.rows(name)) == []
