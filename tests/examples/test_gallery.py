"""Every example is whole: a program, its data, a page, a test, and a picture that is up to date."""

from pathlib import Path

import pytest

from penstock.cli.program import load_program
from penstock.testing.sample_data import sample_file
from tests.architecture import examples_page

EXAMPLES = examples_page.examples()
TESTS = Path(__file__).parent


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_has_data_a_page_and_a_test(name: str) -> None:
    """The page begins with a title and shows the command that runs the demonstration."""
    file = EXAMPLES[name]
    page = (file.parent / "README.md").read_text(encoding="utf-8")
    assert page.startswith("# ")
    assert f"examples/{name}/{file.name}" in page
    assert (TESTS / f"test_{name}.py").is_file()
    if file.suffix == ".sql":
        assert (file.parent / "data.json").is_file()
    else:
        assert sample_file(file) or load_program(str(file)).prepare


def test_gallery_shows_every_example() -> None:
    """`make docs` writes the page from the folders."""
    assert examples_page.PAGE.read_text(encoding="utf-8") == examples_page.render()


def test_pictures_are_those_of_the_programs() -> None:
    """`make docs` draws them."""
    there = {
        file.name: file.read_text(encoding="utf-8") for file in examples_page.IMAGES.glob("*.svg")
    }
    assert there == examples_page.pictures()
