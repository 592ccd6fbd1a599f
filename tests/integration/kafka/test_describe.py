"""``penstock describe``: programs are loaded from files, and nothing of them is started."""

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import penstock
from penstock.cli.main import app

BUILDER = """
from penstock import StreamsBuilder
from neighbour import TOPIC
builder = StreamsBuilder()
builder.stream(TOPIC).to("out")
"""
FUNCTION = """
from penstock import StreamsBuilder
def build():
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return builder.build()
other = build
if __name__ == "__main__":
    raise SystemExit("was run")
"""
SCRIPT = """
from penstock import KafkaStreams, StreamsBuilder
parts = StreamsBuilder()
parts.stream("in").to("out")
with KafkaStreams(parts.build(), {"application.id": "a"}) as streams:
    raise RuntimeError("was started")
"""


def describe(folder: Path, program: str, *options: str, name: str = "") -> Result:
    (folder / "neighbour.py").write_text("TOPIC = 'in'\n")
    (folder / "app.py").write_text(program)
    return CliRunner().invoke(app, ["describe", f"{folder / 'app.py'}{name}", *options])


@pytest.mark.parametrize(
    ("program", "name"),
    [(BUILDER, ""), (FUNCTION, ""), (FUNCTION, ":other"), (BUILDER, ":builder")],
)
def test_topology_is_found_by_its_usual_names(tmp_path: Path, program: str, name: str) -> None:
    """A builder, a topology or a function that builds one; the main part is not run."""
    result = describe(tmp_path, program, name=name)
    assert result.exit_code == 0, result.output
    assert "read · app.py:5 · in   [KSTREAM-SOURCE-0000000000]" in result.stdout
    text = describe(tmp_path, program, "--format", "text", name=name).stdout
    assert "Source: KSTREAM-SOURCE-0000000000 (topics: [in])" in text


def test_script_is_stopped_where_it_would_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shortest program has no main part; its application is never made."""
    monkeypatch.setattr(penstock, "KafkaStreams", None, raising=False)
    monkeypatch.setattr(penstock, "KafkaStreams", object())
    result = describe(tmp_path, SCRIPT)
    assert result.exit_code == 0, result.output
    assert "write · app.py:4 · out   [KSTREAM-SINK-0000000001]" in result.stdout


@pytest.mark.parametrize(
    ("form", "beginning"), [("mermaid", "flowchart"), ("svg", "<svg"), ("json", "{")]
)
def test_other_forms_go_to_output_or_file(tmp_path: Path, form: str, beginning: str) -> None:
    """The same text either way."""
    result = describe(tmp_path, BUILDER, "--format", form)
    assert result.stdout.startswith(beginning)
    file = tmp_path / "picture"
    assert describe(tmp_path, BUILDER, "--format", form, "--output", str(file)).exit_code == 0
    assert file.read_text() == result.stdout


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("x = 1", "no-topology"),
        ("topology = 5", "no-topology"),
        ("a = 1\n{}['amount']", "program-failed"),
        ("raise SystemExit(3)", "program-failed"),
        ("import no_such_module", "program-failed"),
    ],
)
def test_program_without_topology_is_told_why(tmp_path: Path, program: str, code: str) -> None:
    """One message, no traceback."""
    result = describe(tmp_path, program)
    assert result.exit_code == 1
    assert f"[{code}]" in result.stderr
    assert "Traceback" not in result.output


def test_failing_program_names_its_line(tmp_path: Path) -> None:
    """The line is that of the user's file."""
    result = describe(tmp_path, "def f():\n    return {}['amount']\nf()\n")
    assert f"at:  {tmp_path / 'app.py'}:2" in result.stderr
