"""``penstock sql`` as a user calls it, with a server and in a pipe.

Exercises ``default_command``, ``prompt.command``, ``prompt.embedded`` and ``sql.commands``.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock import extras
from penstock.cli.main import app
from penstock.cli.sql.prompt import embedded
from penstock.cli.sql.prompt.command import PromptOptions, server_url
from penstock.cli.sql.prompt.screen import Screen
from penstock.errors import MissingExtraError
from tests.unit.client.fake_server import FakeServer, Source, running


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    columns = {"ID": "STRING", "AMOUNT": "INTEGER"}
    fake.sources["ORDERS"] = Source("STREAM", "ORDERS", columns, [["a", 1], ["b", None]])
    with running(fake):
        yield fake


def invoke(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, ["sql", *map(str, arguments)], input=text)


def test_statement_of_the_command_line_runs(server: FakeServer) -> None:
    done = invoke(server.url, "-e", "SELECT * FROM ORDERS", "--output", "json")
    assert done.exit_code == 0, done.output
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"ID": "a", "AMOUNT": 1},
        {"ID": "b", "AMOUNT": None},
    ]


def test_table_in_a_pipe_is_plain_text(server: FakeServer) -> None:
    done = invoke(server.url, "-e", "SELECT * FROM ORDERS;")
    assert "| ID | AMOUNT |" in done.stdout
    assert "2 rows" in done.stderr


def test_statements_come_from_a_pipe(server: FakeServer) -> None:
    done = invoke(server.url, "--output", "json", text="SHOW STREAMS;\nSELECT * FROM ORDERS;\n")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == 3


def test_file_runs_with_variables_and_properties(server: FakeServer, tmp_path: Path) -> None:
    script, config = tmp_path / "a.sql", tmp_path / "c.properties"
    script.write_text("SELECT * FROM ${src};")
    config.write_text("auto.offset.reset=earliest\nother=1\n")
    done = invoke(server.url, "-f", script, "-d", "src=ORDERS", "--config-file", config)
    assert done.exit_code == 0, done.output
    assert server.requests[-1]["properties"] == {"auto.offset.reset": "earliest"}
    assert server.requests[-1]["sessionVariables"] == {"src": "ORDERS"}


def test_failure_is_exit_1_and_on_standard_error(server: FakeServer) -> None:
    done = invoke(server.url, "-e", "SELECT * FROM foo; SHOW STREAMS;")
    assert done.exit_code == 1
    assert "FOO does not exist" in done.stderr
    assert done.stdout == ""


def test_statement_arrives_as_it_was_written(server: FakeServer) -> None:
    """A line separator of Unicode is a letter of a text, and no end of a line."""
    sql = "INSERT INTO orders VALUES ('a\u2028b\x0cc');"
    server.answers[sql] = {"@type": "done"}
    for done in (invoke(server.url, "-e", sql), invoke(server.url, text=sql)):
        assert done.exit_code == 0, done.output
        assert server.requests[-1]["ksql"] == sql


def test_options_with_comments_stay_apart(server: FakeServer) -> None:
    """A comment at the end of one does not take the next one in."""
    done = invoke(
        server.url, "-e", "SHOW STREAMS -- all", "-e", "SHOW TABLES; -- all", "-e", "SHOW STREAMS",
        "--output", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 3


def test_pipe_that_is_not_text_is_said_so(server: FakeServer) -> None:
    """Not with a trace of Python."""
    done = CliRunner().invoke(app, ["sql", server.url], input=b"SHOW \xff;")
    assert done.exit_code == 1
    assert "not UTF-8" in done.stderr


def test_mark_of_an_editor_is_no_statement(server: FakeServer, tmp_path: Path) -> None:
    """Some write it before the first letter of a file."""
    script = tmp_path / "a.sql"
    script.write_bytes(b"\xef\xbb\xbfSHOW STREAMS;")
    assert invoke(server.url, "-f", script).exit_code == 0
    assert invoke(server.url, text="\ufeffSHOW STREAMS;").exit_code == 0


def test_command_of_the_prompt_that_fails_ends_a_script(server: FakeServer) -> None:
    """As the statement that it stands for."""
    done = invoke(server.url, text="\\d foo\nSHOW STREAMS;\n")
    assert done.exit_code == 1
    assert "FOO" in done.stderr
    assert done.stdout == ""
    assert invoke(server.url, text="\\d ORDERS\nSHOW STREAMS;\n").exit_code == 0


def test_limits_end_queries(server: FakeServer) -> None:
    server.push_rows = [["x", 1], ["y", 2]]
    push = "SELECT * FROM ORDERS EMIT CHANGES;"
    done = invoke(server.url, "-e", push, "--query-row-limit", 1, "--output", "json")
    assert done.stdout.splitlines() == ['{"ID":"x","AMOUNT":1}']
    done = invoke(server.url, "-e", push, "--query-timeout", 700, "--output", "json")
    assert len(done.stdout.splitlines()) == 2


def test_login_is_sent(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "authorization", "Basic YW5uOnB3")
    assert invoke(server.url, "-u", "ann", "-p", "pw", "-e", "SHOW STREAMS;").exit_code == 0
    assert invoke(server.url, "-u", "ann", "-e", "SHOW STREAMS;", text="pw\n").exit_code == 0
    done = invoke(server.url, "-e", "SHOW STREAMS;")
    assert done.exit_code == 1
    assert "[unauthorized]" in done.stderr


def test_misuse_is_exit_2(server: FakeServer) -> None:
    assert invoke(server.url, "--output", "xml").exit_code == 2
    assert invoke(server.url, "--define", "a").exit_code == 2


def test_other_commands_stay_where_they_were() -> None:
    assert "Run a script's queries on Spark" in invoke("run", "--help").output
    assert "--query-row-limit" in invoke("prompt", "--help").output
    assert "migrations" in invoke("--help").output


def test_address_that_is_none_is_refused() -> None:
    done = invoke("localhost:8088", "-e", "SHOW STREAMS;")
    assert done.exit_code == 1
    assert "bad-server-url" in done.stderr


def test_named_server_is_used_as_it_is() -> None:
    with server_url(PromptOptions(url="http://h:1"), Screen()) as url:
        assert url == "http://h:1"


def test_without_a_server_one_is_started_and_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Kafka is the one that the user names."""
    events: list[Any] = []

    class Handle:
        url = "http://127.0.0.1:5"

        def close(self) -> None:
            events.append("closed")

    def start(settings: dict[str, Any]) -> Handle:
        events.append(settings)
        return Handle()

    monkeypatch.setattr(embedded, "_start", start)
    monkeypatch.setattr(embedded, "with_project_broker", dict)
    options = PromptOptions(is_embedded=True, bootstrap="k:9092", settings={"a": "b"})
    with server_url(options, Screen()) as url:
        assert url == Handle.url
    assert events == [{"a": "b", "bootstrap.servers": "k:9092"}, "closed"]


def test_without_a_broker_a_private_one_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    class Handle:
        url = "http://127.0.0.1:5"

        def close(self) -> None:
            pass

    class Line:
        def stop(self) -> None:
            pass

    @contextmanager
    def broker() -> Iterator[tuple[dict[str, Any], Line]]:
        yield {"bootstrap.servers": "private:1"}, Line()

    given: list[Any] = []
    monkeypatch.setattr(embedded, "_start", lambda settings: given.append(settings) or Handle())
    monkeypatch.setattr(embedded, "with_project_broker", dict)
    monkeypatch.setattr(embedded, "new_broker", broker)
    with embedded.embedded_server({}, None, Screen()):
        assert given == [{"bootstrap.servers": "private:1"}]


def test_missing_packages_of_the_server_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    server = embedded.embedded_server({}, None, Screen())
    with pytest.raises(MissingExtraError, match="a server in this process needs") as raised, server:
        pass
    assert "[spark,server]" in (raised.value.fix or "")
