"""Commands as bytes: what is written is read back, and damage is noticed.

Exercises ``commands.command``, ``commands.ids`` and ``commands.status``.
"""

from __future__ import annotations

import orjson
import pytest

from penstock.errors import SerializationError
from penstock.server.commands.command import VERSION, Command, _checksum
from penstock.server.commands.ids import command_id_of
from penstock.server.commands.status import CommandStatus, CommandStatuses
from penstock.sql.syntax.parser import parse_statement

COMMAND = Command(
    id="stream/`CLICKS`/create",
    statement="CREATE STREAM clicks (a INT) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON');",
    properties={"auto.offset.reset": "earliest"},
    variables={"NAME": "x"},
    topics={"clicks": 4},
    number=7,
)


def test_command_survives_its_bytes() -> None:
    """A node reads from the topic what another one wrote."""
    assert Command.of(COMMAND.to_bytes()) == COMMAND


def changed(**values: object) -> bytes:
    return orjson.dumps(orjson.loads(COMMAND.to_bytes()) | values)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "bad-command"),
        (b"no json", "bad-command"),
        (b"[]", "bad-command"),
        (b"{}", "bad-command"),
        (changed(statement="DROP STREAM clicks;"), "bad-command"),
        (changed(checksum="0"), "bad-command"),
        (changed(version=VERSION + 1), "newer-command"),
        (changed(version=0), "bad-command"),
        (changed(version=True), "bad-command"),
        (changed(version="1"), "bad-command"),
    ],
)
def test_damaged_command_is_refused(value: bytes | None, code: str) -> None:
    """A record that is no command, or not the one that was written, has an error of its own."""
    with pytest.raises(SerializationError) as refused:
        Command.of(value)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("id", 5),
        ("statement", None),
        ("properties", "text"),
        ("properties", {"a": 1}),
        ("variables", []),
        ("topics", {"clicks": "4"}),
        ("number", "7"),
        ("token", {}),
    ],
)
def test_field_of_a_wrong_type_is_refused(name: str, wrong: object) -> None:
    """Also if the checksum fits: otherwise a node would fail in the middle of the command."""
    data = orjson.loads(COMMAND.to_bytes()) | {name: wrong}
    del data["checksum"]
    with pytest.raises(SerializationError) as refused:
        Command.of(orjson.dumps(data | {"checksum": _checksum(data)}))
    assert refused.value.code == "bad-command"
    assert name in refused.value.message


def test_command_of_ksqldb_is_refused_by_name() -> None:
    """Its number of a version means something else, so it is not called a newer one."""
    record = {"statement": "SHOW STREAMS;", "streamsProperties": {}, "plan": None, "version": 18}
    with pytest.raises(SerializationError) as refused:
        Command.of(orjson.dumps(record))
    assert refused.value.code == "bad-command"
    assert "ksqlDB" in refused.value.message
    assert "export-ksqldb" in (refused.value.fix or "")


def test_unknown_field_is_refused() -> None:
    """A field that nobody knows would change what the command means."""
    data = orjson.loads(COMMAND.to_bytes()) | {"extra": 1}
    with pytest.raises(SerializationError):
        Command.of(orjson.dumps(data))


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("CREATE STREAM s (a INT) WITH (KAFKA_TOPIC='s');", "stream/`S`/create"),
        ("CREATE TABLE t AS SELECT a, COUNT(*) AS n FROM s GROUP BY a;", "table/`T`/create"),
        ("INSERT INTO s SELECT * FROM r;", "stream/`S`/create"),
        ("DROP TABLE t;", "table/T/drop"),
        ("ALTER STREAM s ADD COLUMN b INT;", "stream/S/alter"),
        ("CREATE TYPE money AS DECIMAL(9, 2);", "type/MONEY/create"),
        ("DROP TYPE money;", "type/MONEY/drop"),
        ("TERMINATE CSAS_S_0;", "terminate/CSAS_S_0/execute"),
        ("PAUSE ALL;", "pause/ALL/execute"),
        ("RESUME CSAS_S_0;", "resume/CSAS_S_0/execute"),
        ("SHOW STREAMS;", None),
        ("INSERT INTO s VALUES (1);", None),
        ("SELECT * FROM s EMIT CHANGES;", None),
    ],
)  # fmt: skip
def test_ids_are_ksqldbs(sql: str, wanted: str | None) -> None:
    """Clients look a command up by its id, and other statements have none."""
    assert command_id_of(parse_statement(sql)) == wanted


def test_alter_system_has_an_id_of_its_own_each_time() -> None:
    """Two changes of the system are two commands."""
    statement = parse_statement("ALTER SYSTEM 'auto.offset.reset' = 'earliest';")
    one, two = command_id_of(statement), command_id_of(statement)
    assert one is not None
    assert one.startswith("cluster/")
    assert one.endswith("/alter")
    assert one != two


def test_status_is_found_with_and_without_backticks() -> None:
    """ksqlDB writes backticks into ids of CREATE; people do not."""
    statuses = CommandStatuses()
    done = CommandStatus("SUCCESS", "Stream created")
    statuses.set("stream/`S`/create", done)
    assert statuses.get("stream/`S`/create") == done
    assert statuses.get("stream/S/create") == done
    assert statuses.get("stream/T/create") is None
    assert statuses.get("nonsense") is None
