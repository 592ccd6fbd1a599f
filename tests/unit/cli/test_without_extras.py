"""The command works where only the packages that Penstock always needs are installed."""

import subprocess
import sys

_PROGRAM = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.startswith(("lark", "fastavro", "google.protobuf", "proto_schema_parser")):
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
