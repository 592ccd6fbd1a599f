"""PRINT in ``penstock sql run`` (``sql.feeds``): topics as they are, one beside the other."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.sql import SqlEngine
from tests.integration.kafka.records import write

pytestmark = pytest.mark.kafka


def run(script: Path, bootstrap: str) -> tuple[int, list[dict[str, object]], str]:
    """Exit code, lines of JSON and what went to standard error."""
    arguments = ["sql", "run", str(script), "--bootstrap", bootstrap, "--json"]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, [*map(json.loads, result.stdout.splitlines())], result.stderr


def test_failing_print_does_not_hide_the_others(
    kafka_broker: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """The topic that is missing is named, the others are printed, and the exit code tells."""
    topic = new_topic("Mixed-Case")
    write(kafka_broker, topic, [("a", "1"), ("b", "2")])
    script = tmp_path / "print.sql"
    script.write_text(
        f"PRINT `no-such` FROM BEGINNING LIMIT 1; PRINT `{topic}` FROM BEGINNING LIMIT 2;"
    )
    code, lines, errors = run(script, kafka_broker)
    failed = [line for line in lines if "error" in line]
    values = [line["print"]["value"] for line in lines if "error" not in line]  # type: ignore[index]
    assert [line["print"] for line in failed] == [{"topic": "no-such"}]
    assert values == ["1", "2"]
    assert code == 1
    assert "no-such" in errors


def test_avro_is_printed_as_columns(kafka_broker: str, tmp_path: Path) -> None:
    """The schema is in the registry of the cluster, where every process finds it."""
    create = (
        "CREATE STREAM readings (id INT KEY, celsius DOUBLE)"
        " WITH (KAFKA_TOPIC='Readings', VALUE_FORMAT='AVRO', PARTITIONS=1);"
    )
    config = {"bootstrap.servers": kafka_broker}
    engine = SqlEngine(config)
    connection = engine.connect(config)
    engine.execute(f"{create} INSERT INTO readings VALUES (7, 21.5);")
    script = tmp_path / "print.sql"
    script.write_text(f"{create} PRINT Readings FROM BEGINNING LIMIT 1;")
    code, lines, _ = run(script, kafka_broker)
    printed = lines[-1]["print"]
    assert isinstance(printed, dict)
    assert (printed["key"], printed["value"]) == (7, {"CELSIUS": 21.5})
    assert code == 0
    engine.execute("DROP STREAM readings DELETE TOPIC;")
    connection.close()
