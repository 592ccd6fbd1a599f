"""The first program a newcomer copies works."""

import re

import pytest

import penstock
from tests.architecture.source import ROOT


@pytest.mark.skipif(not hasattr(penstock, "StreamsBuilder"), reason="the DSL is not exported")
def test_readme_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page prints in a comment is what the program prints."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program, example_test = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    scope: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), scope)
    assert capsys.readouterr().out.strip() == re.findall(r"# (\{.*\})", program)[0]
    exec(compile(f"{example_test}\ntest_counts_words()", "README.md", "exec"), scope)
