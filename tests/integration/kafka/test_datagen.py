"""``penstock datagen`` writes to a real broker what SQL reads.

Exercises ``datagen.program_samples``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli.init.templates import TEMPLATES
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


def test_samples_of_a_program_and_of_a_script_are_written_on_request(
    kafka_broker: str, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    """Only a private broker gets them unasked; the missing topics are made."""
    topic = f"{new_topic('for-name')}-orders"
    program, script = tmp_path / "app.py", tmp_path / "orders.sql"
    text = TEMPLATES["streams"].files("shop")["app.py"]
    program.write_text(text.replace('"orders"', f'"{topic}"'))
    assert f"7 rows to {topic}" in datagen(kafka_broker, "--program", str(program), "-n", "7")
    assert len(read(kafka_broker, topic)) == 7
    files = TEMPLATES["sql"].files("shop")
    script.write_text(files["orders.sql"].replace("'orders'", f"'{topic}-2'"))
    samples = files["samples.avsc"].replace('"orders"', f'"{topic}-2"')
    (tmp_path / "samples.avsc").write_text(samples)
    assert f"5 rows to {topic}-2" in datagen(kafka_broker, "--program", str(script), "-n", "5")


def test_program_without_samples_is_refused(kafka_broker: str, tmp_path: Path) -> None:
    """Nothing is made and nothing is written."""
    program = tmp_path / "app.py"
    program.write_text(
        "from penstock import StreamsBuilder\nbuilder = StreamsBuilder()\n"
        "builder.stream('in-without').to('out-without')\n"
    )
    done = CliRunner().invoke(
        app, ["datagen", "--program", str(program), "--bootstrap", kafka_broker]
    )
    assert done.exit_code == 1
    assert "[no-sample-data]" in done.output
