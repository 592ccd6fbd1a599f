"""``penstock init``: a project whose own tests pass."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from penstock.cli.init.command import application_name
from penstock.cli.init.templates import TEMPLATES
from penstock.cli.live.sample_feed import samples_of
from penstock.cli.main import app
from penstock.cli.program import load_program
from penstock.cli.sql.samples import script_samples
from penstock.errors import InvalidArgumentError
from penstock.kafka.distribution import KAFKA_VERSION
from penstock.sql import SqlEngine
from tests.architecture.source import PACKAGE
from tests.docs.test_shell_blocks import wrong_in
from tests.newcomer.projects import can_be_checked

COMMON = {".gitignore", ".dockerignore", "Dockerfile", "Makefile", "README.md", "compose.yaml"}
PYTHON = {"app.py", "pyproject.toml", "tests/test_app.py"}
FILES = {
    "streams": PYTHON,
    "sessions": PYTHON,
    "sql": {"orders.sql", "samples.avsc", "tests/orders_test.sql"},
    "service": PYTHON | {"service.py", "tests/test_service.py"},
    "notebook": PYTHON | {"orders.ipynb"},
}
PASS = {"streams": "2 passed", "sessions": "2 passed", "service": "3 passed", "sql": "1 of 1 tests"}


def init(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    result = init(str(tmp_path / "My Shop"))
    assert result.exit_code == 0, result.output
    return tmp_path / "My Shop"


@pytest.mark.parametrize("template", TEMPLATES)
def test_project_has_a_program_tests_a_makefile_and_a_container(
    template: str, tmp_path: Path
) -> None:
    """Nothing is left of the places that the template fills in."""
    assert init(str(tmp_path / "My Shop"), "--template", template).exit_code == 0
    found = {
        str(path.relative_to(tmp_path / "My Shop")): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert set(found) == COMMON | FILES[template]
    assert not [path for path, text in found.items() if re.search("@[A-Z]+@", text)]
    if "app.py" in found:
        loaded = load_program(str(tmp_path / "My Shop" / "app.py"))
        assert loaded.config["application.id"] == "my-shop"


@pytest.mark.parametrize("template", PASS)
def test_tests_of_a_new_project_pass(template: str, tmp_path: Path) -> None:
    """As a user runs them, with ``make test``, in an interpreter of their own."""
    if not can_be_checked(TEMPLATES[template]):
        pytest.skip("a package of the project is not installed")
    init(str(tmp_path), "--template", template)
    paths = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        ["make", "test", f"BIN={Path(sys.executable).parent}/"], cwd=tmp_path,
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert PASS[template] in done.stdout


@pytest.mark.parametrize("template", ["streams", "sessions", "service"])
def test_a_program_has_samples_without_end_for_its_sources(template: str, tmp_path: Path) -> None:
    """Otherwise the first run shows a program that waits."""
    init(str(tmp_path), "--template", template)
    loaded = load_program(str(tmp_path / "app.py"))
    samples = list(islice(samples_of(loaded), 500))
    assert len(samples) == 500
    assert {sample.topic for sample in samples} <= {"orders", "clicks"}


def test_a_script_has_samples_for_its_streams(tmp_path: Path) -> None:
    init(str(tmp_path), "--template", "sql")
    engine = SqlEngine()
    engine.execute((tmp_path / "orders.sql").read_text(), answers=False)
    made = list(islice(script_samples(tmp_path / "orders.sql", engine), 2))
    assert [sample.key for sample in made] == [b"1", b"2"]
    assert made[0].value is not None
    assert set(json.loads(made[0].value)) == {"COUNTRY", "AMOUNT"}


@pytest.mark.parametrize("template", TEMPLATES)
def test_containers_run_commands_that_exist(template: str) -> None:
    """No test has a Docker, so what the files name is compared with what there is."""
    files = TEMPLATES[template].files("shop")
    compose: dict[str, Any] = yaml.safe_load(files["compose.yaml"])
    services = compose["services"]
    assert services["kafka"]["image"] == f"apache/kafka:{KAFKA_VERSION}"
    assert services["app"]["environment"]["BOOTSTRAP_SERVERS"] == "kafka:9092"
    lines = re.findall(r"^\t\$\(BIN\)(penstock [^$&\n]*)", files["Makefile"], re.MULTILINE)
    commands = [shlex.split(line) for line in lines]
    commands += [each["command"] for each in services.values() if "command" in each]
    assert len(commands) > 3
    for command in commands:
        if command[0] == "penstock":
            assert wrong_in(command[1:]) is None, command
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for mount in service.get("volumes", ()):
            assert mount.split(":")[0] in compose["volumes"]
    assert TEMPLATES[template].program in files


def test_an_unknown_template_is_named_with_those_there_are(tmp_path: Path) -> None:
    refused = init(str(tmp_path), "--template", "nonsense")
    assert refused.exit_code == 2
    assert all(template in refused.stderr for template in TEMPLATES)


def test_files_that_are_there_are_kept_unless_told_otherwise(project: Path) -> None:
    """A second call must not cost anybody their work."""
    (project / "app.py").write_text("mine")
    refused = init(str(project))
    assert refused.exit_code == 1
    assert "[files-exist]" in refused.stderr
    assert "app.py" in refused.stderr
    assert (project / "app.py").read_text() == "mine"
    assert init(str(project), "--force", "--name", "other").exit_code == 0
    assert '"other"' in (project / "app.py").read_text()


@pytest.mark.parametrize(
    ("text", "name"), [("Shop", "shop"), ("my shop.2", "my-shop-2"), ("-a_b-", "a-b")]
)
def test_names_fit_kafka_and_pip(text: str, name: str) -> None:
    assert application_name(text) == name


def test_a_name_without_letters_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="bad-name"):
        application_name("…")


def test_lines_of_the_template_fit_a_screen() -> None:
    assert not [
        line
        for template in TEMPLATES.values()
        for path, text in template.files("shop").items()
        if not path.endswith((".ipynb", ".yaml"))
        for line in text.splitlines()
        if len(line) > 120
    ]


def test_next_steps_lead_to_a_test_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``pip install penstock-streams`` brings no pytest, and the folder's name may have a space."""
    monkeypatch.chdir(tmp_path)
    said = init("My Shop").stdout
    assert "cd 'My Shop'\n" in said
    assert "pip install" not in said
    monkeypatch.setattr("penstock.cli.init.command.find_spec", lambda _: None)
    lines = init("other").stdout.splitlines()
    assert lines[1:4] == [
        "next:  cd other",
        "       pip install pytest   what the project needs besides",
        "       make test            in a moment, without Kafka or Spark",
    ]
