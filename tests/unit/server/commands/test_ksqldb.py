"""ksqlDB's command topic as a script: what can be read is taken, and nothing is lost in silence.

Exercises ``commands.ksqldb`` and ``penstock server export-ksqldb``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.errors import SerializationError
from penstock.server.commands.ksqldb import (
    KNOWN_VERSION,
    KsqldbCommand,
    as_script,
    ksqldb_commands_topic,
    read_ksqldb_backup,
    read_ksqldb_topic,
)
from penstock.server.commands.log import Entry
from penstock.sql import SqlEngine
from tests.unit.server.query_memory import QueryWorld

STREAM = "CREATE STREAM S (K INT KEY, V INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"


def value(statement: str, query_id: str | None = None, **more: Any) -> bytes:
    """Return a command as ksqlDB writes it."""
    plan: dict[str, Any] = {"@type": "ksqlPlanV1", "statementText": statement}
    if query_id is not None:
        plan["queryPlan"] = {"sources": ["S"], "sink": "A", "queryId": query_id}
    data = {
        "statement": statement, "streamsProperties": {}, "originalProperties": {"a": "b"},
        "plan": plan, "version": 18,
    }  # fmt: skip
    return orjson.dumps(data | more)


def entries(*values: bytes | None) -> list[Entry]:
    return [Entry(offset, b'"stream/`S`/create"', each) for offset, each in enumerate(values)]


def test_statements_come_in_order_with_their_settings() -> None:
    """The script means to Penstock what the topic means to ksqlDB."""
    early = {"auto.offset.reset": "earliest", "ksql.streams.num.stream.threads": 2}
    script = as_script(
        entries(
            value(STREAM),
            value("CREATE STREAM A AS SELECT * FROM S;", "CSAS_A_1", streamsProperties=early),
            value("INSERT INTO A SELECT * FROM S;", "INSERTQUERY_2"),
        )
    )
    assert script.text.splitlines() == [
        STREAM,
        "SET 'auto.offset.reset' = 'earliest';",
        "SET 'ksql.streams.num.stream.threads' = '2';",
        "CREATE STREAM A AS SELECT * FROM S;",
        "UNSET 'auto.offset.reset';",
        "UNSET 'ksql.streams.num.stream.threads';",
        "INSERT INTO A SELECT * FROM S;",
    ]
    assert (script.statements, script.notes) == (3, ())
    engine = SqlEngine()
    engine.execute(script.text)
    assert len(engine.queries) == 2


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (None, "bad-ksqldb-command"),
        (b"rubbish", "bad-ksqldb-command"),
        (b"[1]", "bad-ksqldb-command"),
        (b"{}", "bad-ksqldb-command"),
        (value(STREAM, version="18"), "bad-ksqldb-command"),
        (value(STREAM, version=True), "bad-ksqldb-command"),
        (value(STREAM, streamsProperties=[1]), "bad-ksqldb-command"),
        (value(STREAM, version=KNOWN_VERSION + 1), "newer-ksqldb-command"),
    ],
)
def test_entry_that_cannot_be_read_is_a_comment(given: bytes | None, code: str) -> None:
    """With its offset and the reason; all others are taken."""
    with pytest.raises(SerializationError) as refused:
        KsqldbCommand.of(Entry(1, b"k", given))
    assert refused.value.code == code
    script = as_script(entries(value(STREAM), given, value("DROP STREAM S;")))
    comment, *lines = script.text.splitlines()
    assert lines == [STREAM, "DROP STREAM S;"]
    assert comment.startswith("-- Not taken over: offset 1: ")
    assert len(script.notes) == 1


@pytest.mark.parametrize(
    "given",
    [
        orjson.dumps({"statement": STREAM}),
        orjson.dumps({"statement": STREAM, "version": None, "plan": None}),
        orjson.dumps({"statement": STREAM, "plan": {"@type": "ksqlPlanV9", "queryPlan": [1]}}),
        value(STREAM, unheardOf={"a": 1}),
    ],
)
def test_old_and_unknown_forms_are_read_as_far_as_they_go(given: bytes) -> None:
    """Plans are not needed, so their type does not matter; neither do fields that are new."""
    script = as_script(entries(given))
    assert (script.text, script.notes) == (f"{STREAM}\n", ())


def test_terminated_and_paused_queries_are_told() -> None:
    """An INSERT that was terminated is left out. A stream needs its query, so that one stays."""
    script = as_script(
        entries(
            value(STREAM),
            value("CREATE STREAM A AS SELECT * FROM S;", "CSAS_A_1"),
            value("INSERT INTO A SELECT * FROM S;", "INSERTQUERY_2"),
            value("TERMINATE INSERTQUERY_2;"),
            value("PAUSE CSAS_A_1;"),
            value("TERMINATE CSAS_A_1;"),
            value("CREATE STREAM B AS SELECT * FROM S;", "CSAS_B_6"),
            value("PAUSE CSAS_B_6;"),
        )
    )
    assert [line for line in script.text.splitlines() if not line.startswith("--")] == [
        STREAM,
        "CREATE STREAM A AS SELECT * FROM S;",
        "CREATE STREAM B AS SELECT * FROM S;",
    ]
    assert script.notes == (
        "offset 5: CSAS_A_1 was terminated, and the script starts it",
        "offset 7: CSAS_B_6 was paused, and the script starts it",
    )


def test_unknown_statements_and_settings_are_told() -> None:
    """A script that is refused as a whole would help nobody."""
    odd = value(STREAM, streamsProperties={"ksql.unheard.of": "1", "auto.offset.reset": "latest"})
    script = as_script(entries(value("FROBNICATE S;"), odd))
    assert script.text.splitlines()[-2:] == ["SET 'auto.offset.reset' = 'latest';", STREAM]
    assert [note.split(":")[0] for note in script.notes] == ["offset 0", "offset 1"]
    SqlEngine().execute(script.text)


def test_terminated_cluster_has_nothing_left() -> None:
    """What stands before the end of a cluster is gone; what stands behind it is new."""
    script = as_script(entries(value(STREAM), value("TERMINATE CLUSTER;"), value("DROP TYPE T;")))
    assert script.text == "DROP TYPE T;\n"


def test_backup_of_ksqldb_is_exported(tmp_path: Path) -> None:
    """A key and a value in each line, with a colon between; a broken line is told."""
    backup, output = tmp_path / "backup_command_topic_1", tmp_path / "app.sql"
    lines = [b'"stream/`S`/create":' + value(STREAM), b"rubbish", b'"x/y/z":rubbish', b""]
    backup.write_bytes(b"\n".join(lines))
    assert [each.offset for each in read_ksqldb_backup(backup)] == [0, 1, 2]
    arguments = ["server", "export-ksqldb", "--backup", str(backup)]
    written = CliRunner().invoke(app, [*arguments, "--output", str(output)])
    assert written.exit_code == 1
    assert "1 statements" in written.output
    assert output.read_text().splitlines()[-1] == STREAM
    assert output.read_text().count("-- Not taken over") == 2
    assert CliRunner().invoke(app, arguments).output == output.read_text()
    whole = tmp_path / "whole"
    whole.write_bytes(lines[0] + b"\n")
    told = CliRunner().invoke(app, [*arguments[:-1], str(whole), "--json"])
    assert (told.exit_code, orjson.loads(told.output)["statements"]) == (0, 1)


def test_topic_is_read_to_its_present_end(world: QueryWorld) -> None:
    """The topic of the service, which is not changed."""
    topic = ksqldb_commands_topic("shop_")
    world.topics.create(topic)
    assert list(read_ksqldb_topic(world.topics, "shop_")) == []
    for each in (STREAM, "DROP STREAM S;"):
        world.topics.add(topic, b"key", value(each))
    found = read_ksqldb_topic(world.topics, "shop_")
    assert as_script(found).text.splitlines() == [STREAM, "DROP STREAM S;"]
