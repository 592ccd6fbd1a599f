"""The programs on the pages about SQL work, and print what the pages say."""

import re

import pytest

from tests.architecture.source import ROOT

PAGES = sorted((ROOT / "docs/reference/sql").glob("*.md"))


def programs() -> list[tuple[str, str]]:
    """Every Python block of every page, with the place it stands at."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.finditer(r"```python\n(.*?)```", text, re.DOTALL):
            line = text[: block.start()].count("\n") + 2
            found.append((f"{page.name}:{line}", block[1]))
    return found


@pytest.mark.parametrize(("place", "program"), programs(), ids=[p for p, _ in programs()])
def test_programs_print_what_the_page_says(
    place: str, program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The comment behind or below a print is its output."""
    exec(compile(program, place, "exec"), {"__name__": f"page_{place.replace('.', '_')}"})
    promised = re.findall(r"print\(.*\)\s+# (.*)", program)
    assert promised
    assert capsys.readouterr().out.splitlines() == promised
