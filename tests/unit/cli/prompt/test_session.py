"""What becomes of a statement: on a server that speaks the real one's protocol.

Exercises ``prompt.session``, ``statement_kind``, ``query_view``, ``prompt.screen``,
``cli_commands``, ``prompt.command`` and ``prompt.entities``.
"""

import io
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from penstock.cli.sql.prompt.cli_commands import CliCommands
from penstock.cli.sql.prompt.command import run_text
from penstock.cli.sql.prompt.query_view import QueryLimits
from penstock.cli.sql.prompt.screen import Screen
from penstock.cli.sql.prompt.session import SqlSession
from penstock.client.errors import ServerUnreachableError
from penstock.errors import InvalidArgumentError, PenstockError
from tests.unit.client.fake_server import FakeServer, Source, running

ORDERS = {"ID": "STRING", "AMOUNT": "INTEGER"}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    fake.sources["ORDERS"] = Source("STREAM", "ORDERS", ORDERS, [["a", 1], ["b", None]])
    with running(fake):
        yield fake


class Desk:
    """A session with a terminal of a given width that can be read."""

    def __init__(self, url: str, *, width: int = 100, output: str = "tabular") -> None:
        self.file = io.StringIO()
        console = Console(file=self.file, width=width, force_terminal=True, highlight=False,
                          color_system=None)  # fmt: skip
        self.screen = Screen(output, console)
        self.session = SqlSession(url, self.screen)
        self.commands = CliCommands(self.session)
        self.commands.history = lambda: ["one", "two"]

    def __enter__(self) -> "Desk":
        return self

    def __exit__(self, *exc: object) -> None:
        self.session.close()

    def text(self) -> str:
        """Return what was printed since the last call, without the terminal's control codes."""
        # What is written over something else in a terminal begins a line here.
        found = re.sub(r"(\x1b\[2K|\r)+", "\n", self.file.getvalue())
        found = re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", found)
        self.file.truncate(0)
        self.file.seek(0)
        return found


@pytest.fixture
def desk(server: FakeServer) -> Iterator[Desk]:
    with Desk(server.url) as found:
        yield found


def test_rows_of_a_pull_query_are_a_table(desk: Desk) -> None:
    assert desk.session.run("SELECT * FROM ORDERS;")
    text = desk.text()
    assert "│ ID │ AMOUNT │" in text
    assert "│ b  │   null │" in text
    assert "2 rows" in text


def test_rows_of_a_push_query_come_one_by_one_until_the_limit(
    server: FakeServer, desk: Desk
) -> None:
    server.push_rows = [["x", 1], ["y", 2], ["z", 3]]
    desk.session.limits = QueryLimits(rows=2)
    assert desk.session.run("SELECT * FROM ORDERS EMIT CHANGES;")
    lines = desk.text().splitlines()
    assert any(line.startswith("ID") for line in lines)
    assert any(line.startswith("y") and line.rstrip().endswith("2") for line in lines)
    assert not any(line.startswith("z ") for line in lines)


def test_an_answer_from_a_cut_says_its_number_and_its_age(server: FakeServer, desk: Desk) -> None:
    assert desk.session.run("SELECT * FROM ORDERS;")
    assert "cut" not in desk.text()
    server.cut = int(time.time() * 1000) - 2_500
    assert desk.session.run("SELECT * FROM ORDERS AS OF CUT LATEST;")
    found = re.search(r"2 rows \(\d+\.\d+ s\), cut (\d+) of (\d+\.\d) s ago", desk.text())
    assert found is not None
    assert int(found[1]) == server.cut
    assert 2.5 <= float(found[2]) < 30


TOTALS = [["x", 1], ["y", 2], {"tombstone": ["x", None]}, ["y", 3], ["z", 4]]


def test_deleted_row_of_a_table_goes_away(server: FakeServer, desk: Desk) -> None:
    """Rows change in place: the table that is left has the present rows, and no others."""
    server.sources["TOTALS"] = Source("TABLE", "TOTALS", ORDERS)
    server.push_rows, server.does_push_end = TOTALS, True
    assert desk.session.run("SELECT * FROM TOTALS EMIT CHANGES;")
    text = desk.text()
    last = text[text.rindex("╭") :]
    assert "│ y  │      3 │" in last
    assert "│ z  │      4 │" in last
    assert "x" not in last
    assert "2 rows after 5 changes" in last


def test_deleted_rows_are_marked_in_a_pipe(server: FakeServer) -> None:
    """Lines that are out cannot go away, so a line says it, in ksqlDB's word."""
    server.sources["TOTALS"] = Source("TABLE", "TOTALS", ORDERS)
    server.push_rows, server.does_push_end = TOTALS, True
    for output in ("tabular", "json"):
        with Desk(server.url, output=output) as desk:
            desk.screen.console = Console(file=desk.file, highlight=False, width=80)
            assert desk.session.run("SELECT * FROM TOTALS EMIT CHANGES;")
            lines = desk.text().splitlines()
        if output == "tabular":
            assert [line.split() for line in lines[1:4]] == [
                ["x", "1"], ["y", "2"], ["x", "<TOMBSTONE>"],
            ]  # fmt: skip
        else:
            assert json.loads(lines[2]) == {"ID": "x", "AMOUNT": None, "@tombstone": True}
            assert json.loads(lines[3]) == {"ID": "y", "AMOUNT": 3}


def test_query_ends_after_its_time(server: FakeServer, desk: Desk) -> None:
    """Nothing of it is left on the server."""
    desk.session.limits = QueryLimits(seconds=0.5)
    assert desk.session.run("SELECT * FROM ORDERS EMIT CHANGES;")
    assert "0 rows" in (text := desk.text())
    assert "query ended" in text


def test_json_has_one_object_for_each_row(server: FakeServer) -> None:
    with Desk(server.url, output="json") as desk:
        desk.screen.console = Console(file=desk.file, highlight=False)
        assert desk.session.run("SELECT * FROM ORDERS; SHOW STREAMS;")
        rows = [json.loads(line) for line in desk.text().splitlines()]
        assert rows[:2] == [{"ID": "a", "AMOUNT": 1}, {"ID": "b", "AMOUNT": None}]
        assert rows[2][0]["streams"][0]["name"] == "ORDERS"
        assert not desk.session.run("SELECT * FROM foo;")
        assert json.loads(desk.text())["error"]["line"] == 1


def test_error_points_at_its_place(desk: Desk) -> None:
    assert not desk.session.run("SELECT * FROM foo;")
    text = desk.text()
    assert "[bad-statement] FOO does not exist" in text
    assert "✓" not in text
    assert "  1 | SELECT * FROM foo;\n    |               ^^^" in text


def test_script_stops_at_the_first_failure(server: FakeServer, desk: Desk) -> None:
    assert not desk.session.run("SHOW STREAMS; CRATE; SHOW TABLES;")
    assert [each["ksql"] for each in server.requests] == ["SHOW STREAMS;", "CRATE;"]


def test_set_and_define_hold_for_later_statements(server: FakeServer, desk: Desk) -> None:
    assert desk.session.run("SET 'auto.offset.reset'='earliest'; DEFINE src = 'ORDERS';")
    assert desk.session.run("SELECT * FROM ${SRC};")
    asked = server.requests[-1]
    assert asked["properties"] == {"auto.offset.reset": "earliest"}
    assert asked["sessionVariables"] == {"src": "ORDERS"}
    assert desk.session.run("UNSET 'auto.offset.reset'; UNDEFINE SRC; SHOW STREAMS;")
    assert server.requests[-1]["streamsProperties"] == {}
    assert server.requests[-1]["sessionVariables"] == {}


def test_property_that_the_server_does_not_know_is_not_set(desk: Desk) -> None:
    assert not desk.session.run("SET 'bad.one'='1';")
    assert "Not recognizable" in desk.text()
    assert desk.session.properties == {}


def test_bad_forms_of_set_and_define_say_the_right_one(desk: Desk) -> None:
    for sql in ("SET a;", "DEFINE 'a'='b';", "UNSET;", "UNDEFINE a b;"):
        assert not desk.session.run(sql)
        assert "has the form" in desk.text()


def test_define_refuses_a_name_that_no_statement_could_use(desk: Desk) -> None:
    assert not desk.session.run("DEFINE 9a = 'x';")
    assert "a variable cannot be called '9a'" in desk.text()
    assert desk.session.variables == {}


def test_run_script_runs_a_file_in_this_session(tmp_path: Path, desk: Desk) -> None:
    file = tmp_path / "a.sql"
    file.write_text("SET 'auto.offset.reset'='earliest';\nSHOW STREAMS;\n")
    assert desk.session.run(f"RUN SCRIPT '{file}';")
    assert desk.session.properties == {"auto.offset.reset": "earliest"}
    assert "ORDERS" in desk.text()


def test_failure_in_a_script_names_file_and_line(tmp_path: Path, desk: Desk) -> None:
    file = tmp_path / "a.sql"
    file.write_text("SHOW STREAMS;\n\nCRATE;\n")
    assert not desk.session.run(f"RUN SCRIPT '{file}';")
    assert "a.sql:3: " in desk.text().replace("\n", "")


def test_script_that_runs_itself_ends(tmp_path: Path, desk: Desk) -> None:
    file = tmp_path / "a.sql"
    file.write_text(f"RUN SCRIPT '{file}';")
    assert not desk.session.run(f"RUN SCRIPT '{file}';")
    assert "nested-too-deeply" in desk.text()
    assert not desk.session.run(f"RUN SCRIPT '{tmp_path}/none.sql';")


def test_print_shows_records(desk: Desk) -> None:
    assert desk.session.run("PRINT orders LIMIT 2;")
    assert "rowtime: 2" in desk.text()
    desk.session.limits = QueryLimits(rows=1)
    desk.session.run("PRINT orders;")
    assert desk.text().count("rowtime") == 1


def test_statements_wait_for_each_other_unless_told_otherwise(
    server: FakeServer, desk: Desk
) -> None:
    create = "CREATE STREAM {} (id STRING KEY) WITH (KAFKA_TOPIC='t');"
    desk.session.run(create.format("a") + create.format("b"))
    assert server.requests[-1]["commandSequenceNumber"] == 1
    desk.commands.run("request-pipelining on")
    desk.session.run(create.format("c"))
    assert "commandSequenceNumber" not in server.requests[-1]


def test_commands_are_not_sql(desk: Desk) -> None:
    for line, wanted in (
        ("help", "this list"),
        ("VERSION;", "penstock 0"),
        ("history", "    2  two"),
        ("output json", "output is json"),
        ("output tabular", "output is tabular"),
        ("server", "fake_"),
        ("set cli wrap off", "wrap is OFF"),
        ("SET CLI EXPANDED on", "expanded is ON"),
        ("\\x", "expanded is OFF"),
        ("spool", "no spool"),
        ("\\ds", "ORDERS"),
        ("\\d orders", "AMOUNT"),
    ):
        assert desk.commands.run(line)
        assert wanted in desk.text(), line
    assert not desk.commands.run("SELECT 1;")
    assert not desk.commands.run("helpful text;")
    assert not desk.commands.is_over
    desk.commands.run("exit")
    assert desk.commands.is_over


@pytest.mark.parametrize(
    "line", ["output xml", "set cli nothing on", "set cli wrap perhaps", "run script"]
)
def test_commands_with_wrong_arguments_are_refused(desk: Desk, line: str) -> None:
    with pytest.raises(InvalidArgumentError):
        desk.commands.run(line)


def test_server_is_changed_only_if_it_answers(server: FakeServer, desk: Desk) -> None:
    with pytest.raises(ServerUnreachableError):
        desk.commands.run("server http://127.0.0.1:9")
    assert desk.session.url == server.url
    desk.session.run("DEFINE a = 'b';")
    desk.commands.run(f"server {server.url}/")
    desk.session.run("SHOW STREAMS;")
    assert server.requests[-1]["sessionVariables"] == {"a": "b"}


def test_spool_copies_the_session(tmp_path: Path, desk: Desk) -> None:
    file = tmp_path / "session.log"
    desk.commands.run(f"spool '{file}'")
    desk.screen.typed("SHOW STREAMS;")
    desk.session.run("SHOW STREAMS; CRATE;")
    desk.commands.run("spool off")
    desk.session.run("SHOW TABLES;")
    text = file.read_text()
    assert text.index("penstock> SHOW STREAMS;") < text.index("ORDERS") < text.index("mismatched")
    assert "Table" not in text
    with pytest.raises(PenstockError, match="cannot be written"):
        desk.commands.run(f"spool {tmp_path}")


def test_narrow_terminal_shows_rows_one_below_the_other(server: FakeServer) -> None:
    server.sources["WIDE"] = Source(
        "TABLE", "WIDE", {f"COLUMN_{i}": "STRING" for i in range(12)}, [["some text"] * 12]
    )
    with Desk(server.url, width=60) as desk:
        desk.session.run("SELECT * FROM WIDE;")
        text = desk.text()
    assert "COLUMN_11 │ some text" in text
    assert max(map(len, text.splitlines())) <= 60


def test_text_with_commands_and_statements_runs_in_order(server: FakeServer, desk: Desk) -> None:
    """A pipe is typed by a program: commands have a line of their own."""
    text = "output json\nSHOW\n  STREAMS;\nexit\nCRATE;"
    assert run_text(desk.session, desk.commands, text)
    assert desk.screen.is_json
    assert [each["ksql"] for each in server.requests] == ["SHOW\n  STREAMS;"]
    assert not run_text(desk.session, desk.commands, "output xml")
    assert not run_text(desk.session, desk.commands, "SELECT 'open")
