"""``penstock init``: a project whose own tests pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.init.command import application_name, template
from penstock.cli.main import app
from penstock.cli.program import load_program
from penstock.errors import InvalidArgumentError
from tests.architecture.source import PACKAGE

FILES = {
    ".gitignore", "Makefile", "README.md", "app.py", "orders.sql", "pyproject.toml",
    "tests/orders_test.sql", "tests/test_app.py",
}  # fmt: skip


def init(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    result = init(str(tmp_path / "My Shop"))
    assert result.exit_code == 0, result.output
    return tmp_path / "My Shop"


def test_project_has_a_program_tests_sql_and_a_makefile(project: Path) -> None:
    found = {str(path.relative_to(project)) for path in project.rglob("*") if path.is_file()}
    assert found == FILES
    loaded = load_program(str(project / "app.py"))
    assert loaded.config["application.id"] == "my-shop"
    assert loaded.prepare is not None
    assert not [path for path in found if "@NAME@" in (project / path).read_text()]


def test_tests_of_a_new_project_pass(project: Path) -> None:
    """As a user runs them, with ``make test``, in an interpreter of their own."""
    tools = Path(sys.executable).parent
    paths = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        ["make", "test", f"BIN={tools}/"], cwd=project, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


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
        line for text in template("shop").values() for line in text.splitlines() if len(line) > 120
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
        "       pip install pytest   what the tests of the project need",
        "       make test            in a moment, without Kafka or Spark",
    ]
