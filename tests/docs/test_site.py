"""The site as a whole: every page can be reached, drawings fit both colours."""

from __future__ import annotations

import importlib.util
import posixpath
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType

import pytest

from tests.architecture.source import ROOT
from tests.docs.pages import DOCS, blocks_of, name_of, pages

NAVIGATION = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
STYLE_SHEET = (DOCS / "assets" / "site.css").read_text(encoding="utf-8")
DRAWINGS = [file for file in sorted(DOCS.rglob("*.svg")) if 'class="drawing"' in file.read_text()]


def linked_from(page: str) -> set[str]:
    """Return the pages that a page links to."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", text)
    return {posixpath.normpath(posixpath.join(posixpath.dirname(page), each)) for each in found}


def test_every_page_can_be_reached() -> None:
    """A page that neither the navigation nor another page names is found by nobody."""
    reached, waiting = set(), set(re.findall(r"[\w./-]+\.md", NAVIGATION))
    while waiting:
        page = waiting.pop()
        reached.add(page)
        waiting |= linked_from(page) - reached
    assert sorted({name_of(page) for page in pages()} - reached) == []


def test_every_page_has_one_title() -> None:
    """The title is the first line; the list of pages and the search show it."""
    first = {name_of(page): page.read_text(encoding="utf-8").splitlines()[0] for page in pages()}
    assert [name for name, line in first.items() if not line.startswith("# ")] == []


def test_code_fits_beside_both_columns_of_links() -> None:
    """A longer line would hide its end, and with it the answer in the comment."""
    wide = [
        f"{name_of(page)}:{number}"
        for page in pages()
        for block in blocks_of(page)
        for number, line in enumerate(block.text.splitlines(), block.line)
        if len(line) > 90
    ]
    assert wide == []


@pytest.mark.parametrize("file", DRAWINGS, ids=lambda file: file.stem)
def test_drawing_has_a_text_and_both_colours(file: Path) -> None:
    """A reader who cannot see it hears its title; a colour without a dark one would vanish."""
    root = ElementTree.parse(file).getroot()
    texts = [root.findtext(f"{{http://www.w3.org/2000/svg}}{tag}") for tag in ("title", "desc")]
    assert all(texts)
    style = file.read_text(encoding="utf-8")
    used = set(re.findall(r"var\((--\w+)\)", style))
    for scheme in ("default", "slate"):
        rule = STYLE_SHEET.partition(f'[data-md-color-scheme="{scheme}"] svg.drawing')[2]
        assert used <= set(re.findall(r"(--\w+):", rule.partition("}")[0]))
    assert "prefers-color-scheme:dark" in style


def test_pages_draw_every_drawing() -> None:
    """A drawing that no page shows is a leftover."""
    shown = " ".join(page.read_text(encoding="utf-8") for page in pages())
    assert [file.name for file in DRAWINGS if f"images/{file.name})" not in shown] == []
    assert len(DRAWINGS) >= 10


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("forms", DOCS / "hooks" / "markdown_forms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_list_of_pages_has_titles_and_first_sentences(hook: ModuleType) -> None:
    """What a program reads first says what each page is about."""
    texts = {
        "index.md": "# Shop\n\nSells tea. And cups.\n",
        "how-to/joins.md": "# Joins\n\n```python\nx\n```\n\n| a |\n\nSee [tables](t.md): two.\n",
    }
    assert hook.listed(texts).splitlines()[4:] == [
        "- [Shop](index.md): Sells tea.",
        "",
        "## How to",
        "",
        "- [Joins](how-to/joins.md): See tables",
    ]


def test_api_directives_become_text(hook: ModuleType) -> None:
    """The Markdown form of an API page has signatures and docstrings, not a directive."""
    text = hook.api_text("penstock.KStream")
    assert "## `KStream(" in text
    assert "### `KStream.map_values(" in text
    # A method without a docstring is public, too.
    assert "### `TimeWindows.of_size_and_grace(" in hook.api_text("penstock.TimeWindows")
    page = hook.DIRECTIVE.sub(lambda found: found[1], "# API\n\n::: penstock.KStream\n\nend\n")
    assert ":::" not in page


def test_names_in_tables_can_break(hook: ModuleType) -> None:
    """Code outside of tables stays as it is."""
    html = "<p><code>a.b</code></p><table><tr><td>x <code>a.b_c</code> y</td></tr></table>"
    assert hook.CELL_CODE.sub(hook.breakable, html) == html.replace("a.b_c", "a.<wbr>b_<wbr>c")


def test_guides_come_first_in_the_search(hook: ModuleType) -> None:
    """A reader who searches for a task finds the guide before its reference and its reasons."""
    order = ["how-to/joins.md", "concepts/columns.md", "reference/http.md", "decisions/index.md"]
    boosts = [hook.boost_of(page) for page in order]
    assert boosts == sorted(boosts, reverse=True)
    assert len(set(boosts)) == len(boosts)
    assert all(any(name_of(page).startswith(start) for page in pages()) for start in hook.BOOSTS)
