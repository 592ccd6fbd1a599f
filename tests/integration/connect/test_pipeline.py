"""The pipeline of ``examples/connect_pipeline``: a row of PostgreSQL ends in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.cli.sql.files import read_script
from penstock.sql import SqlEngine
from tests.integration.connect.postgres import postgres
from tests.integration.connect.test_connectors import eventually
from tests.integration.connect.test_outbox import plugins

psycopg = pytest.importorskip("psycopg")

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[3] / "examples" / "connect_pipeline"

__all__ = ["plugins"]


def test_a_row_of_the_database_ends_in_the_bucket(
    needs_java: None,
    kafka_broker: str,
    plugins: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows from before and after the start; one that needs nothing is not there."""
    monkeypatch.chdir(EXAMPLE)
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    with postgres() as server, psycopg.connect(server.address, autocommit=True) as database:
        database.execute((EXAMPLE / "database.sql").read_text("utf-8"))
        database.execute("INSERT INTO products VALUES (1, 'lamp', 2, 10), (2, 'chair', 4, 4)")
        engine = SqlEngine({"ksql.service.id": "bucket_", "ksql.connect.plugin.path": str(plugins)})
        names = {
            "HOST": server.host, "PORT": server.port, "DATABASE": server.database,
            "USER": server.user, "PASSWORD": server.password, "BUCKET": bucket,
        }  # fmt: skip
        engine.catalog.variables.update({name: str(value) for name, value in names.items()})
        kafka = {"bootstrap.servers": kafka_broker, "state.dir": str(tmp_path / "state")}
        with engine.connect(kafka) as running:
            engine.execute(read_script(EXAMPLE / "connectors.sql"))
            running.sync()
            database.execute("UPDATE products SET stock = 1 WHERE name = 'chair'")
            file = bucket / "reorders.jsonl"
            wanted = {("lamp", 8), ("chair", 3)}
            eventually(lambda: file.is_file() and _reorders(file) == wanted, timeout_s=240.0)
            engine.execute("DROP CONNECTOR `warehouse`; DROP CONNECTOR `bucket`;")


def _reorders(file: Path) -> set[tuple[str, int]]:
    lines = file.read_text("utf-8").splitlines()
    return {(row["NAME"], row["QUANTITY"]) for row in map(json.loads, lines)}
