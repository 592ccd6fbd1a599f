"""The runner of SQL cases: our own cases agree, and every kind of difference is found."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.sqlcases.__main__ import main
from tests.sqlcases.cases import Case, cases_in
from tests.sqlcases.exceptions import (
    ACCEPTED,
    DIFFERING,
    DIFFERING_OVER_REST,
    EXCEPTED,
    EXCEPTED_OVER_REST,
    reason_for,
)
from tests.sqlcases.run import ENGINES, check, check_over_columns

OWN = Path(__file__).parent / "own"
SHARED = Path(__file__).parents[2].parent / "shared" / "sql-cases" / "query"
CASES = [case for file in sorted(OWN.glob("*.json")) for case in cases_in(file)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_own_case_agrees(case: Case, engine: str) -> None:
    """Each case of ours gives what it says, by record and over columns."""
    assert ENGINES[engine](case).problems == []


def changed(name: str, change: Any) -> Case:
    found = next(case for case in CASES if case.name == name)
    data = copy.deepcopy(found.data)
    change(data)
    return Case(found.file, found.name, data)


WINDOWED, PLAIN = "orders per minute and item", "dear orders in capitals - JSON"
AVRO = "dear orders in capitals - AVRO"


def with_schema(data: dict[str, Any]) -> None:
    formats = {"keyFormat": {"format": "KAFKA"}, "valueFormat": {"format": "AVRO"}}
    data["post"]["topics"]["topics"] = [{"name": "DEAR", **formats, "valueSchema": {"type": "int"}}]


@pytest.mark.parametrize(
    ("name", "change", "word"),
    [
        (PLAIN, lambda data: data["outputs"][0].update(key=2), "key"),
        (PLAIN, lambda data: data["outputs"][0]["value"].update(PRICE=13), "value"),
        (PLAIN, lambda data: data["outputs"][0].update(timestamp=6), "timestamp"),
        (PLAIN, lambda data: data["outputs"].append(data["outputs"][0]), "fewer"),
        (PLAIN, lambda data: data["outputs"].clear(), "more"),
        (PLAIN, lambda data: data["outputs"][0].update(headers=[{"KEY": "a"}]), "headers"),
        (WINDOWED, lambda data: data["outputs"][0]["window"].update(start=1), "window"),
        (WINDOWED, lambda data: data["outputs"].reverse(), "timestamp"),
        (PLAIN, lambda data: data["post"]["sources"][0].update(type="table"), "STREAM"),
        (PLAIN, lambda data: data["post"]["sources"][0].update(schema="ID INT"), "ITEM"),
        (PLAIN, lambda data: data["post"]["sources"][0].update(name="NONE"), "no source"),
        (WINDOWED, lambda data: data["post"]["topics"].update(blacklist=".*-repartition"), "topic"),
        (WINDOWED, lambda data: data["post"]["topics"]["topics"][0].update(name="x"), "no topic"),
        (AVRO, with_schema, "value schema is"),
        (PLAIN, lambda data: data.update(expectedException={}), "accepted"),
        (PLAIN, lambda data: data["statements"].append("CREATE STREAM;"), "refused"),
    ],
)
def test_difference_is_found(name: str, change: Any, word: str) -> None:
    """A case that says something else disagrees, and the problem says what."""
    problems = check(changed(name, change)).problems
    assert problems
    assert word in " ".join(problems)


def test_command_counts_what_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    """The last line is the count; the exit code says whether all agree."""
    assert main([str(OWN), "--only", "capitals - AVRO"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "sql cases: 1 of 1 agree"
    assert main(["/no/such/folder"]) == 2


def test_excepted_case_is_counted_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An exception is for a case that is accepted; the same name excuses nothing else."""
    file, name = "joins.json", "self join"
    orders = "CREATE STREAM orders (id INT KEY, n INT) WITH (KAFKA_TOPIC='o', FORMAT='JSON');"
    case = {"name": name, "statements": [orders], "expectedException": {}}
    (tmp_path / file).write_text(json.dumps({"tests": [case]}))
    assert main([str(tmp_path), "--engine", "records"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert f"excepted {file}: {name}: {EXCEPTED[file, name]}" in told
    assert told[-1] == "sql cases: 0 of 1 agree, 1 are excepted"
    wrong = {"name": name, "statements": [orders, "CREATE STREAM;"]}
    (tmp_path / file).write_text(json.dumps({"tests": [wrong]}))
    assert main([str(tmp_path), "--engine", "records"]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "sql cases: 0 of 1 agree"


def test_every_exception_is_needed() -> None:
    """A case that agrees again, or that has another name now, must leave the list."""
    if not SHARED.is_dir():
        pytest.skip(f"the cases of the SQL dialect are not at {SHARED}")
    excepted = {*EXCEPTED, *DIFFERING}
    files = {file for file, _ in excepted}
    cases = [case for file in sorted(files) for case in cases_in(SHARED / file)]
    named = [case for case in cases if (case.file, case.name) in excepted]
    assert sorted((case.file, case.name) for case in named) == sorted(excepted)
    assert all(check(case).reason for case in named)


def test_an_exception_excuses_nothing_else() -> None:
    """A case whose answer differs has one difference, and it is the one that is written down."""
    for case, (beginning, reason) in (DIFFERING | DIFFERING_OVER_REST).items():
        assert reason_for(*case, [f"{beginning} and so on"]) == reason
        assert reason_for(*case, [ACCEPTED]) is None
        assert reason_for(*case, [beginning, "something else"]) is None
        assert reason_for("other.json", case[1], [beginning]) is None
    for case, reason in EXCEPTED_OVER_REST.items():
        assert reason_for(*case, [ACCEPTED]) == reason
        assert reason_for(*case, ["0.query: missing"]) is None


def test_exceptions_of_a_server_name_cases() -> None:
    """A case that has another name now must leave the list."""
    if not SHARED.is_dir():
        pytest.skip(f"the cases of the SQL dialect are not at {SHARED}")
    named = {*EXCEPTED_OVER_REST, *DIFFERING_OVER_REST}
    files = {file for file, _ in named}
    cases = [case for file in files for case in cases_in(SHARED.parent / "rest" / file)]
    assert named <= {(case.file, case.name) for case in cases}


def test_some_shared_cases_are_the_same_over_columns() -> None:
    """One case of the dialect in ten; ``python -m tests.sqlcases`` runs all of them both ways."""
    if not SHARED.is_dir():
        pytest.skip(f"the cases of the SQL dialect are not at {SHARED}")
    cases = [case for file in sorted(SHARED.glob("*.json")) for case in cases_in(file)][::10]
    verdicts = [check_over_columns(case) for case in cases]
    assert [each.problems for each in verdicts] == [check(case).problems for case in cases]
    assert sum(each.ran_over_columns for each in verdicts) > len(cases) // 4


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_shared_cases_agree(engine: str) -> None:
    """At least 97 of 100 cases of the dialect agree, by record and over columns."""
    run = ENGINES[engine]
    if not SHARED.is_dir():
        pytest.skip(f"the cases of the SQL dialect are not at {SHARED}")
    verdicts = [run(case) for file in sorted(SHARED.glob("*.json")) for case in cases_in(file)]
    agreeing = sum(verdict.agrees for verdict in verdicts)
    assert agreeing >= 0.97 * len(verdicts)
