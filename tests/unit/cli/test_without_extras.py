"""The command works where only the packages that Penstock always needs are installed."""

import subprocess
import sys

_PROGRAM = """
import sys

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
    assert done.stdout == 'missing-extra pip install "penstock[server]"\n', done.stderr
