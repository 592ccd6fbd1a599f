"""What every command has in common: versions, help, and errors before a broker is asked.

Exercises ``cli.connection`` and ``cli.command_group``.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import penstock
from penstock.cli.main import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def test_version_names_penstock_spark_and_kafka() -> None:
    """A report about a bug needs all three."""
    result = run("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"penstock {penstock.__version__} (Spark ")


def test_help_fills_the_width_of_any_terminal() -> None:
    """The lines of docstrings are longer than those of many terminals."""

    def helps(command: Any) -> Iterator[str]:
        yield command.help or ""
        for below in getattr(command, "commands", {}).values():
            yield from helps(below)

    found = list(helps(typer.main.get_command(app)))
    assert len(found) > 30
    assert not [text for text in found if "\n" in text.replace("\n\n", "")]


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("topics", "create", "t", "--config", "novalue"),
        ("topics", "create", "t", "--partitions", "0"),
        ("consume", "t", "--value-serde", "lng"),
        ("consume", "t", "--isolation-level", "none"),
        ("produce", "t", "v", "--key", "k", "--key-separator", ":"),
        ("produce", "t", "v", "--timestamp", "soon"),
        ("produce", "t", "v", "--header", "novalue"),
        ("describe", "/no/such/file.py"),
    ],
)
def test_misuse_exits_with_2(arguments: tuple[str, ...]) -> None:
    """Scripts can tell a wrong call from a failed one."""
    assert run(*arguments).exit_code == 2


def test_without_any_broker_the_message_says_how_to_start_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first thing a newcomer tries has no broker to talk to."""
    monkeypatch.setattr("penstock.kafka.nearby_broker.find_project_broker", lambda: None)
    monkeypatch.setattr("penstock.kafka.nearby_broker.running_project_broker", lambda: None)
    result = run("topics", "list")
    assert result.exit_code == 1
    assert "[no-broker]" in result.stderr
    assert "penstock broker start" in result.stderr
