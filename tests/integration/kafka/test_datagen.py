"""``penstock datagen`` writes to a real broker what SQL reads."""

from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from tests.integration.kafka.records import read

pytestmark = pytest.mark.kafka


def datagen(kafka_broker: str, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["datagen", *arguments, "--bootstrap", kafka_broker])
    assert done.exit_code == 0, done.output
    return done.output


def test_rows_are_the_same_for_the_same_seed(
    kafka_broker: str, new_topic: Callable[..., str]
) -> None:
    """Also those columns that are made of the time, if it is given."""
    written = []
    for _ in range(2):
        topic = new_topic("orders", partitions=1)
        output = datagen(
            kafka_broker, "orders", "-t", topic, "-n", "25", "--seed", "7", "--start", "1000"
        )
        assert f"25 rows to {topic}" in output
        written.append(read(kafka_broker, topic))
    assert len(written[0]) == 25
    assert written[0] == written[1]
