"""The pages of the site and their code blocks, as the tests see them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.source import ROOT

DOCS = ROOT / "docs"
_BLOCK = re.compile(
    r"(?:^<!-- (?P<marker>[^\n]*?) -->\n)?^(?P<indent> *)```(?P<language>\w+)[^\n]*\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One code block: where it stands, its language, its text, and the comment in front of it.

    The comment ``needs Spark`` leaves a block to the tests on Spark. ``not run: why`` leaves it
    out, with the reason in the page's source.
    """

    page: str
    line: int
    language: str
    text: str
    marker: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def is_run(self) -> bool:
        return not self.marker.startswith(("not run: ", "needs Spark"))


def pages() -> list[Path]:
    """Return every page of the site; hooks and other files are none."""
    return sorted(page for page in DOCS.rglob("*.md"))


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the code blocks of a page that name their language."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            name_of(page),
            text[: found.start("text")].count("\n") + 1,
            found["language"],
            found["text"],
            found["marker"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def blocks(language: str) -> dict[str, list[Block]]:
    """Return the blocks of one language by page, in the order in which they stand there."""
    found = {name_of(page): blocks_of(page) for page in pages()}
    return {
        page: chosen
        for page, every in found.items()
        if (chosen := [block for block in every if block.language == language])
    }
