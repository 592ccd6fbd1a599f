"""``penstock sql`` as a user calls it; runs on Spark are in ``tests/integration/spark``.

Exercises ``cli.output``, ``sql.test``, ``sql.assertions``, ``sql.records`` and ``sql.script``.
"""

import importlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.cli.sql import commands as command
from penstock.cli.sql.results import RowLines, json_of, plain
from penstock.errors import MissingExtraError
from penstock.model.sql.types import BIGINT, BYTES, DATE, STRING, ArrayType
from penstock.sql import SqlEngine
from penstock.sql.catalog.schema import SourceColumn
from penstock.testing.sql.script import input_rows

CLICKS = """
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
VIEWS = f"{CLICKS}CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;\n"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["sql", *map(str, arguments)])


def script(folder: Path, text: str, name: str = "a.sql") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_each_section_of_a_file_is_a_test_of_its_own(tmp_path: Path) -> None:
    """A failing test says which record differs, and where the assertion stands in its file."""
    text = f"""--@test: passes
{VIEWS}INSERT INTO clicks VALUES ('ann', '/home');
ASSERT VALUES views (page, n) VALUES ('/home', 1);
ASSERT TABLE views (page VARCHAR PRIMARY KEY, n BIGINT) WITH (VALUE_FORMAT='JSON');
--@test: fails
{VIEWS}INSERT INTO clicks VALUES ('ann', '/home');
ASSERT VALUES views (page, n) VALUES ('/home', 2);
"""
    done = invoke("test", script(tmp_path, text))
    assert done.exit_code == 1
    line = text.splitlines().index("ASSERT VALUES views (page, n) VALUES ('/home', 2);") + 1
    assert "✓ a.sql: passes" in done.output
    assert "N is 1, expected 2" in done.output
    assert f"line {line}, column 1" in done.output
    assert "1 of 2 tests pass" in done.output


def test_a_test_that_asserts_nothing_does_not_pass(tmp_path: Path) -> None:
    """It would pass whatever the script does."""
    done = invoke("test", script(tmp_path, f"{VIEWS}INSERT INTO clicks VALUES ('ann', '/home');"))
    assert done.exit_code == 1
    assert "it asserts nothing: add ASSERT VALUES" in done.output
    assert "0 of 1 tests pass" in done.output


@pytest.mark.parametrize(
    ("assertion", "problem"),
    [
        ("ASSERT VALUES views (page) VALUES ('/home');", "N is 1, expected None"),
        ("ASSERT VALUES views (page, n, ROWTIME) VALUES ('/home', 1, 6);", "ROWTIME is 5"),
        ("ASSERT NULL VALUES views (page) KEY ('/home');", "it has a value, expected NULL"),
        ("ASSERT STREAM views;", "VIEWS is a TABLE, expected a STREAM"),
        ("ASSERT TABLE views (page VARCHAR PRIMARY KEY, n INT);", "N INTEGER"),
        ("ASSERT TABLE views WITH (KAFKA_TOPIC='other');", "has KAFKA_TOPIC VIEWS, expected other"),
        ("ASSERT VALUES clicks VALUES ('ann', '/home'); " * 2, "no further record after 1"),
        ("ASSERT VALUES views (nothing) VALUES (1);", "VIEWS has no column 'NOTHING'"),
    ],
)
def test_assertions_say_what_differs(tmp_path: Path, assertion: str, problem: str) -> None:
    """Every column of a record counts; its time only where it is named."""
    insert = "INSERT INTO clicks (ROWTIME, usr, page) VALUES (5, 'ann', '/home');"
    done = invoke("test", script(tmp_path, f"{VIEWS}{insert}\n{assertion}"))
    assert done.exit_code == 1
    assert problem in done.output


def test_expected_refusals_pass_only_when_refused(tmp_path: Path) -> None:
    """By one of our errors, with the text that the test names."""
    refused = f"--@expected.error: AnalysisError\n--@expected.message: {{}}\n{CLICKS}{{}}"
    bad = "CREATE STREAM s AS SELECT nothing FROM clicks;"
    script(tmp_path, refused.format("NOTHING", bad), "1.sql")
    script(tmp_path, refused.format("something else", bad), "2.sql")
    script(tmp_path, refused.format("NOTHING", ""), "3.sql")
    done = invoke("test", tmp_path, "--json")
    found = [json.loads(line) for line in done.output.splitlines()]
    assert [each["passes"] for each in found] == [True, False, False]
    assert "must be refused" in found[2]["problem"]


def test_input_and_output_files_test_a_script(tmp_path: Path) -> None:
    """As ksqlDB's test runner does it: records by topic, in order."""
    file = script(tmp_path, VIEWS)
    record = {"topic": "clicks", "key": "ann", "value": {"PAGE": "/home"}, "timestamp": 5}
    (tmp_path / "in.json").write_text(json.dumps({"inputs": [record, record]}))
    rows = [{"topic": "VIEWS", "key": "/home", "value": {"N": n}, "timestamp": 5} for n in (1, 2)]
    (tmp_path / "out.json").write_text(json.dumps({"outputs": rows}))
    options = ("--input", tmp_path / "in.json", "--output", tmp_path / "out.json")
    done = invoke("test", file, *options)
    assert (done.exit_code, "1 of 1 tests pass" in done.output) == (0, True), done.output
    (tmp_path / "out.json").write_text(json.dumps({"outputs": rows[:1]}))
    done = invoke("test", file, *options)
    assert done.exit_code == 1
    assert "VIEWS: 2 records, more than 1" in done.output


def test_one_of_two_files_is_misuse(tmp_path: Path) -> None:
    """Exit 2, as for every misuse."""
    file = script(tmp_path, VIEWS)
    assert invoke("test", file, "--input", file).exit_code == 2
    assert invoke("test", file, "--define", "x").exit_code == 2
    assert invoke("test", file, "--define", "9a=x").exit_code == 2


def test_refused_script_names_line_and_column_of_the_file(tmp_path: Path) -> None:
    """Nothing is started, and the caret stands below what is wrong."""
    done = invoke(
        "run", script(tmp_path, f"{VIEWS}\nCREATE STREAM s AS\n  SELECT usr, pgae FROM clicks;")
    )
    assert done.exit_code == 1
    assert "line 7, column 15" in done.stderr
    assert "\n" + " " * 21 + "^^^^" in done.stderr
    assert "Traceback" not in done.output


def test_script_without_queries_prints_and_ends(tmp_path: Path) -> None:
    """SHOW and DESCRIBE need neither Kafka nor Spark."""
    text = f"{CLICKS}SHOW STREAMS; DESCRIBE clicks; EXPLAIN SELECT * FROM clicks EMIT CHANGES;"
    done = invoke("run", script(tmp_path, text))
    assert done.exit_code == 0, done.output
    for part in ("CLICKS   clicks   KAFKA", "USR      STRING   KEY", "Topologies:"):
        assert part in done.stdout


def test_variables_of_the_command_line_are_those_of_the_script(tmp_path: Path) -> None:
    """As DEFINE would set them."""
    text = CLICKS.replace("'JSON'", "'${format}'") + "SHOW STREAMS;"
    done = invoke("run", script(tmp_path, text), "-d", "format=DELIMITED", "--json")
    rows = json.loads(done.stdout.splitlines()[-1])["rows"]
    assert rows[0]["value_format"] == "DELIMITED"


def test_assertions_are_refused_outside_of_tests() -> None:
    """A running script has no record that comes next."""
    engine = SqlEngine()
    with pytest.raises(Exception, match="only for SQL tests"):
        engine.execute(f"{CLICKS}ASSERT VALUES clicks VALUES ('a', 'b');")


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other commands work without the packages of SQL."""

    def fail(name: str) -> None:
        raise ModuleNotFoundError(name="prompt_toolkit")

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(MissingExtraError, match="'prompt_toolkit'") as failure:
        command.needing_sql("penstock.cli.sql.run")
    assert failure.value.fix == "pip install 'penstock-streams[sql]'"


def test_rows_are_printed_below_their_names() -> None:
    """Dates as people write them, bytes as text, NULL as a dash."""
    columns = [SourceColumn("DAY", DATE), SourceColumn("N", BIGINT), SourceColumn("T", STRING)]
    lines = RowLines(columns)
    first = [str(line) for line in lines.lines({"DAY": 1, "N": 7, "T": None})]
    assert [line.split() for line in first] == [["DAY", "N", "T"], ["1970-01-02", "7", "-"]]
    assert len(lines.lines({"DAY": 1, "N": 7, "T": "x"})) == 1
    assert plain([b"\0"], ArrayType(BYTES)) == ["AA=="]


def test_results_as_json_are_plain_data() -> None:
    """Rows as objects, details beside them."""
    engine = SqlEngine()
    results = engine.execute(f"{VIEWS}DESCRIBE views EXTENDED;")
    found = json_of(results[-1])
    assert found["written_by"] == ["CTAS_VIEWS_0"]
    assert found["rows"][1] == {"column": "N", "type": "BIGINT", "role": ""}


def test_samples_leave_the_rows_of_insert_values_alone() -> None:
    """Both are written when the run starts."""
    engine = SqlEngine()
    engine.execute(f"{CLICKS}INSERT INTO clicks VALUES ('ann', '/home');")
    record = {"topic": "clicks", "key": "bob", "value": {"PAGE": "/buy"}, "timestamp": 7}
    (sample,) = input_rows(engine, [record])
    assert (sample.key, sample.value, sample.timestamp) == (b"bob", b'{"PAGE":"/buy"}', 7)
    assert [kept.key for kept in engine.outbox] == [b"ann"]


def test_sample_at_time_0_keeps_its_time() -> None:
    """0 is a time; only a sample without one gets the present time."""
    engine = SqlEngine()
    engine.execute("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');")
    given = [{"topic": "s", "value": {"A": 1}, "timestamp": 0}, {"topic": "s", "value": {"A": 2}}]
    assert [sample.timestamp for sample in input_rows(engine, given)] == [0, None]
