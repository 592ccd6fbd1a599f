"""Completion, colours and the rule when Enter ends a statement.

Exercises ``prompt.completion``, ``prompt.highlighting``, ``catalog_words`` and ``line_editor``.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input.defaults import create_pipe_input
from prompt_toolkit.output import DummyOutput

from penstock.cli.sql.prompt.catalog_words import CatalogWatch, CatalogWords, read_words
from penstock.cli.sql.prompt.completion import SqlCompleter
from penstock.cli.sql.prompt.highlighting import SqlHighlighter
from penstock.cli.sql.prompt.line_editor import LineEditor, default_history_file, open_history
from penstock.cli.sql.prompt.statement_kind import Kind, is_complete, statements
from penstock.client import Client
from tests.unit.client.fake_server import FakeServer, Source, running

WORDS = CatalogWords(
    streams={"ORDERS": {"ORDER_ID": "BIGINT", "my col": "STRING"}},
    tables={"USERS": {"USER_ID": "STRING", "REGION": "STRING"}},
    functions={"UCASE": "scalar function", "COUNT": "aggregate function"},
    topics=("orders", "my-topic"),
    queries=("CTAS_T_1",),
    connectors=("pg",),
    properties=("auto.offset.reset", "ksql.service.id"),
)
KEYWORDS = ("SELECT", "FROM", "WHERE", "GROUP", "JOIN", "WITH", "EMIT", "CHANGES")


def offered(text: str, after: str = "") -> list[str]:
    completer = SqlCompleter(lambda: WORDS, lambda: KEYWORDS, ("help", "exit"))
    document = Document(text + after, len(text))
    found = completer.get_completions(document, CompleteEvent(completion_requested=True))
    return [each.text for each in found]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("SEL", "SELECT"),
        ("sel", "select"),
        ("he", "help"),
        ("SELECT * FROM O", "ORDERS"),
        ("select * from us", "users"),
        ("INSERT INTO ", "USERS"),
        ("DESCRIBE U", "USERS"),
        ("DROP TABLE ", "USERS"),
        ("DROP STREAM ", "ORDERS"),
        ("SHOW T", "TYPES"),
        ("PRINT m", "`my-topic`"),
        ("TERMINATE C", "CTAS_T_1"),
        ("DROP CONNECTOR ", "`pg`"),
        ("DESCRIBE FUNCTION u", "ucase"),
        ("SET 'auto", "auto.offset.reset"),
        ("CREATE STREAM x WITH (KAFKA_TOPIC='my", "my-topic"),
        ("SELECT 1; SELECT * FROM ORD", "ORDERS"),
    ],
)
def test_what_can_stand_there_is_offered_first(text: str, first: str) -> None:
    assert offered(text)[0] == first


def test_columns_come_from_the_sources_behind_the_cursor() -> None:
    found = offered("SELECT OR", " FROM orders;")
    assert found[0] == "ORDER_ID"
    assert "REGION" not in offered("SELECT R", " FROM orders;")
    assert offered("SELECT my", " FROM orders;")[0] == "`my col`"
    assert "UCASE(" in offered("SELECT U", " FROM orders;")


def test_alias_has_the_columns_of_its_source() -> None:
    text = "SELECT * FROM orders o JOIN users AS u ON u."
    assert offered(text) == ["REGION", "USER_ID"]
    assert offered("SELECT x.", " FROM orders") == []


def test_only_columns_of_joined_sources_are_offered() -> None:
    found = offered("SELECT REG", " FROM orders JOIN users ON 1 = 1;")
    assert found[0] == "REGION"


def test_letters_in_order_are_enough() -> None:
    """As in pgcli: what begins with the letters comes before what only has them."""
    assert offered("SELECT * FROM ods") == ["orders"]
    assert offered("DROP TABLE usr") == ["users"]


def test_nothing_is_offered_inside_other_texts() -> None:
    assert offered("SELECT 'FRO") == []


def test_enter_ends_only_whole_statements() -> None:
    for text in ("SELECT 1;", "SELECT ';' ; -- done", "a; b;"):
        assert is_complete(text), text
    for text in ("SELECT 1", "SELECT ';", "SELECT 1 -- ;", "/* ;", "", "SELECT `;"):
        assert not is_complete(text), text


def test_statements_know_their_line_and_kind() -> None:
    found = statements("-- first\nSELECT 1;\nrun script 'a';\nPRINT t; list streams")
    assert [(each.kind, each.line) for each in found] == [
        (Kind.QUERY, 2),
        (Kind.RUN_SCRIPT, 3),
        (Kind.PRINT, 4),
        (Kind.STATEMENT, 4),
    ]


def test_colours_follow_the_kinds_of_words() -> None:
    highlighter = SqlHighlighter(lambda: KEYWORDS, lambda: WORDS.functions)
    text = "select ucase(x), 'a\nb' -- c\nfrom ${t} 12"
    lines = highlighter.lex_document(Document(text))
    found = {piece: style for i in range(3) for style, piece in lines(i) if style}
    assert found == {
        "select": "class:sql.keyword",
        "ucase": "class:sql.function",
        "'a": "class:sql.string",
        "b'": "class:sql.string",
        "-- c": "class:sql.comment",
        "from": "class:sql.keyword",
        "${t}": "class:sql.variable",
        "12": "class:sql.number",
    }
    assert "".join(piece for _, piece in lines(1)) == "b' -- c"
    assert lines(9) == []


@pytest.fixture
def server() -> Iterator[FakeServer]:
    fake = FakeServer()
    fake.sources["ORDERS"] = Source("STREAM", "ORDERS", {"ID": "STRING", "N": "INTEGER"})
    with running(fake):
        yield fake


def test_names_come_from_the_server_in_the_background(server: FakeServer) -> None:
    with Client(server.url) as client:
        watch = CatalogWatch(lambda: client)
        watch.refresh()
        deadline = time.monotonic() + 20
        while not watch.latest.streams:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert watch.latest.sources == {"ORDERS": {"ID": "STRING", "N": "INTEGER"}}
        assert watch.latest.properties == ("ksql.service.id",)
        assert watch.latest.queries == ("CTAS_T_1",)


def test_server_that_is_away_leaves_what_is_known() -> None:
    with Client("http://127.0.0.1:9") as client:
        assert read_words(client, WORDS) == WORDS


def test_typed_lines_become_one_statement() -> None:
    """Enter goes on below until the statement has its semicolon."""
    with Client("http://127.0.0.1:9") as client, create_pipe_input() as keys:
        editor = LineEditor(
            CatalogWatch(lambda: client),
            lambda text: text.strip() == "help",
            lambda: "toolbar",
            source=keys,
            target=DummyOutput(),
        )
        keys.send_text("SELECT 1\rFROM x;\r")
        assert editor.read() == "SELECT 1\nFROM x;"
        keys.send_text("help\r")
        assert editor.read() == "help"
        assert editor.typed_before() == ["SELECT 1\nFROM x;", "help"]


def test_history_file_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = default_history_file()
    open_history(file).store_string("SELECT 1;")
    assert file.stat().st_mode & 0o777 == 0o600
    assert "SELECT 1;" in file.read_text()
    (tmp_path / "file").touch()
    open_history(tmp_path / "file" / "below").append_string("kept in memory")
