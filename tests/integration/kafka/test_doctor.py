import json

import pytest
from typer.testing import CliRunner

from penstock.cli.main import app
from penstock.kafka.errors import JavaError


def test_doctor_exits_with_1_and_a_fix_when_something_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One failed look does not hide the others."""

    def missing() -> object:
        raise JavaError("java-missing", "none was found", fix="pip install penstock-streams[jdk]")

    monkeypatch.setattr("penstock.cli.doctor.find_java", missing)
    result = CliRunner().invoke(app, ["doctor", "--json"])
    checks = {check["name"]: check for check in json.loads(result.stdout)}
    assert result.exit_code == 1
    assert checks["java"] == {
        "name": "java", "state": "fail", "found": "none was found",
        "fix": "pip install penstock-streams[jdk]",
    }  # fmt: skip
    assert checks["python"]["state"] == "ok"


def test_doctor_says_how_to_get_what_is_not_there_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Kafka's files come by themselves, so their absence is no failure."""
    monkeypatch.setattr("penstock.cli.doctor.installed", lambda: None)
    result = CliRunner().invoke(app, ["doctor"])
    assert "! kafka" in result.stdout
    assert "it is downloaded (45 MB) when a broker starts for the first time" in result.stdout


def test_doctor_tells_an_address_that_does_not_answer() -> None:
    """A wrong address is found before a program waits for it."""
    result = CliRunner().invoke(app, ["doctor", "--bootstrap", "127.0.0.1:1"])
    assert result.exit_code == 1
    assert "no answer from 127.0.0.1:1" in result.stdout


def test_failed_request_exits_with_1_and_says_what_to_do() -> None:
    """Whoever reads the message can go on without a manual, and sees no traceback."""
    result = CliRunner().invoke(
        app, ["topics", "list", "--bootstrap", "127.0.0.1:1", "--timeout", "0.5"]
    )
    assert result.exit_code == 1
    assert "[broker-unreachable] cannot list topics: no answer from 127.0.0.1:1" in result.stderr
    assert "fix:" in result.stderr
    assert "Traceback" not in result.output


def test_doctor_lists_the_extras_and_how_to_get_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An extra that was left out is no failure: most programs need few of them."""
    monkeypatch.setattr(
        "penstock.cli.doctor.missing_packages",
        lambda extra: ["granian"] if extra == "server" else [],
    )
    result = CliRunner().invoke(app, ["doctor", "--json"])
    found = next(check for check in json.loads(result.stdout) if check["name"] == "extras")
    assert found["state"] == "ok"
    assert "with spark, " in found["found"]
    assert "without server (stores, health and metrics over HTTP)" in found["found"]
    assert found["fix"] == "only if you need them: pip install 'penstock-streams[server]'"
