"""The first programs a newcomer copies work."""

import ast
import re

import pytest

from penstock import StreamsConfig
from tests.architecture.source import ROOT


def programs() -> tuple[str, str, str]:
    """The page's programs: in the test driver, on Spark, and a test of the first."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, on_spark, example_test = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return first, on_spark, example_test


def test_readme_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page prints in a comment is what the program prints."""
    program, _, example_test = programs()
    scope: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), scope)
    assert capsys.readouterr().out.strip() == re.findall(r"# (\{.*\})", program)[0]
    exec(compile(f"{example_test}\ntest_sums_large_payments()", "README.md", "exec"), scope)


def test_readme_configuration_is_accepted() -> None:
    """The program on Spark is run by `tests/docs`; here its settings are checked."""
    _, on_spark, _ = programs()
    config = re.findall(r"^config = (\{.*\})$", on_spark, re.MULTILINE)[0]
    assert StreamsConfig(ast.literal_eval(config))["application.id"] == "spend"
