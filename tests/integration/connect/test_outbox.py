"""The outbox of ``examples/outbox``: from a transaction of PostgreSQL to a table in it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.connect.plugins import Coordinates, install
from penstock.kafka.errors import BrokerError
from penstock.kafka.machine import cache_folder
from penstock.sql import SqlEngine
from tests.integration.connect.postgres import Postgres, postgres
from tests.integration.connect.test_connectors import eventually

psycopg = pytest.importorskip("psycopg")

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[3] / "examples" / "outbox"
CONNECTORS = (
    "io.debezium:debezium-connector-postgres:3.5.0.Final",
    "io.debezium:debezium-connector-jdbc:3.5.0.Final",
)


@pytest.fixture(scope="module")
def plugins() -> Path:
    """The connectors, downloaded once per machine."""
    folder = cache_folder() / "test-connectors"
    for text in CONNECTORS:
        module = Coordinates.of(text)
        if not (folder / module.folder).is_dir():
            try:
                install([module], folder, lambda _: None)
            except BrokerError as error:
                pytest.skip(f"the connectors cannot be downloaded: {error.message}")
    return folder


@pytest.fixture
def database() -> Iterator[Postgres]:
    with postgres() as server:
        with psycopg.connect(server.address, autocommit=True) as connection:
            connection.execute((EXAMPLE / "database.sql").read_text("utf-8"))
        yield server


def shop() -> Any:
    spec = importlib.util.spec_from_file_location("outbox_shop", EXAMPLE / "shop.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows(database: Postgres, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database.address) as connection:
        return list(connection.execute(query).fetchall())


def test_orders_become_totals(
    needs_java: None, kafka_broker: str, database: Postgres, plugins: Path, tmp_path: Path
) -> None:
    """Orders before and after the start are counted; a transaction that fails leaves no trace."""
    orders = shop()
    orders.place_orders(database.address, 5)
    engine = SqlEngine({"ksql.service.id": "outbox_", "ksql.connect.plugin.path": str(plugins)})
    names = {
        "host": database.host, "port": database.port, "database": database.database,
        "user": database.user, "password": database.password,
    }  # fmt: skip
    engine.catalog.variables.update({name.upper(): str(value) for name, value in names.items()})
    kafka = {"bootstrap.servers": kafka_broker, "state.dir": str(tmp_path)}
    with engine.connect(kafka) as running:
        results = engine.execute((EXAMPLE / "pipeline.sql").read_text("utf-8"))
        assert database.password not in repr(results)
        running.sync()
        orders.place_orders(database.address, 7)
        with (
            psycopg.connect(database.address, autocommit=True) as undecided,
            undecided.transaction(force_rollback=True),
        ):
            orders.place_order(undecided, "never", "ann", 1_000_000.0)
        placed = "SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY 1 ORDER BY 1"
        expected = rows(database, placed)
        totals = "SELECT customer, orders, spent FROM customer_totals ORDER BY customer"
        assert sum(count for _, count, _ in expected) == 12
        eventually(lambda: rows(database, totals) == expected, timeout_s=240.0)
        described = engine.execute("DESCRIBE CONNECTOR `outbox`; SHOW CONNECTORS;")
        assert database.password not in repr(described)
        engine.execute("DROP CONNECTOR `outbox`; DROP CONNECTOR `totals`;")
