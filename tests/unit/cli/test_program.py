"""Loading a user's program: which line is named if it fails, and what ``python -m`` runs."""

import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.cli.program import load_program
from penstock.errors import StreamsError

FAILING = """
from penstock import StreamsBuilder

def build():
    builder = StreamsBuilder()
    builder.stream("in").to("out")
    return {}["topology"]
"""


@pytest.mark.parametrize("is_relative", [True, False])
def test_exception_in_build_names_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_relative: bool
) -> None:
    """Whether the user typed a relative path or an absolute one."""
    (tmp_path / "shop.py").write_text(FAILING)
    monkeypatch.chdir(tmp_path)
    path = "shop.py" if is_relative else str(tmp_path / "shop.py")
    with pytest.raises(StreamsError, match="program-failed") as raised:
        load_program(path)
    assert raised.value.at == f"{path}:7"
    assert "KeyError('topology')" in raised.value.message


def test_syntax_error_names_its_line(tmp_path: Path) -> None:
    """No line of the program has run, so no traceback has it: the error itself does."""
    program = tmp_path / "shop.py"
    program.write_text("from penstock import StreamsBuilder\n\ndef (\n")
    with pytest.raises(StreamsError, match="program-failed") as raised:
        load_program(str(program))
    assert raised.value.at == f"{program}:3"
    assert "raised SyntaxError('invalid syntax') while it was loaded" in raised.value.message


def test_exception_in_a_module_beside_the_program_names_the_line_that_called_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "prices_of_shop.py").write_text("def price(order):\n    return order['price']\n")
    program = tmp_path / "shop.py"
    program.write_text("from prices_of_shop import price\n\nbuild = lambda: price({})\n")
    with pytest.raises(StreamsError) as raised:
        load_program(str(program))
    assert raised.value.at == f"{program}:3"


def test_module_is_the_command_line() -> None:
    """On machines where the folder of scripts is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"penstock {penstock.__version__} ")
