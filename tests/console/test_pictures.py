"""The documentation has a picture of every page, in both colours and both widths."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.console.files import PAGES as SHOWN
from tests.console.browser import WIDE
from tests.console.pictures import FOLDER, PAGES, SQL_PAGES, names

PAGE = FOLDER.parents[1] / "how-to" / "console.md"


def width(data: bytes) -> int:
    """Return the width of an extended WebP, which is what Chromium writes."""
    assert (data[:4], data[8:16]) == (b"RIFF", b"WEBPVP8X")
    return int.from_bytes(data[24:27], "little") + 1


def test_every_page_of_the_console_has_its_pictures() -> None:
    """A new page gets pictures, and a page that goes takes them along."""
    assert set(SHOWN) == set(PAGES)
    assert set(SQL_PAGES) == {"sql", "queries"}
    assert {file.name for file in FOLDER.iterdir()} == set(names())


@pytest.mark.parametrize("name", names())
def test_a_picture_is_as_wide_as_its_name_says(name: str) -> None:
    """And small enough for a page with all of them."""
    data = (FOLDER / name).read_bytes()
    assert str(width(data)) == name.removesuffix(".webp").rpartition("-")[2]
    assert len(data) < (120_000 if f"-{WIDE[0]}" in name else 60_000)


def test_the_documentation_shows_every_picture() -> None:
    """Each only in its colours."""
    shown = re.findall(r"assets/console/([\w.-]+)#only-(\w+)", PAGE.read_text(encoding="utf-8"))
    assert sorted(name for name, _ in shown) == sorted(names())
    assert all(f"-{colours}-" in name for name, colours in shown)
