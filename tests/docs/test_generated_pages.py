"""Pages that are generated say what the code says; `python -m tests.docs` writes them."""

from __future__ import annotations

import re
from types import ModuleType

import pytest

from tests.architecture.source import ROOT
from tests.docs import (
    api_pages,
    cli_page,
    errors_page,
    functions_page,
    parity_page,
    statements_page,
)
from tests.docs.__main__ import SINGLE
from tests.docs.pages import DOCS

#: Their pages depend on the engine and have tests of their own.
ELSEWHERE = (functions_page,)


@pytest.mark.parametrize(
    "page", [page for page in SINGLE if page not in ELSEWHERE], ids=lambda page: page.__name__
)
def test_page_is_what_the_code_says(page: ModuleType) -> None:
    """Whoever adds an option, an error, a metric or a statement writes the page again."""
    assert page.PAGE.read_text(encoding="utf-8") == page.render()


def test_api_pages_are_what_the_code_says() -> None:
    """Every area has its page, and no page is left over."""
    written = {
        file.name: file.read_text(encoding="utf-8") for file in api_pages.FOLDER.glob("*.md")
    }
    assert written == api_pages.render()


def test_every_public_name_has_a_page() -> None:
    """A new public name is put into an area of `tests/docs/api_pages.py`."""
    assert api_pages.without_a_page() == []


def test_every_promised_error_is_on_the_page() -> None:
    """The golden file of errors has codes that helpers and variables make, too."""
    listed = {error.code for error in errors_page.raised()}
    assert set(errors_page.promised_texts()) - listed == set()


def test_every_error_has_a_cause_and_a_fix() -> None:
    """Where the code has only values, `errors.toml` says it; a note that is not needed goes."""
    noted = {code: set(note) for code, note in errors_page.notes().items()}
    assert noted == dict(errors_page.without_words())


def test_a_group_that_runs_by_itself_is_a_command_of_its_own() -> None:
    """`penstock server` starts the server, and has commands below it."""
    page = cli_page.render()
    assert "\n## penstock server\n" in page
    assert "--queries-file" in page


def test_every_error_has_a_heading_on_the_page() -> None:
    """Errors of a folder that no heading names would be left out."""
    files = {error.file for error in errors_page.raised()}
    assert sorted(file for file in files if errors_page.area_of(file) == "Other") == []


def test_every_statement_of_the_grammar_is_described() -> None:
    """A new statement gets a text in `statements.toml`, and a removed one loses it."""
    assert set(statements_page.statements()) == set(statements_page.texts())


def test_every_line_of_the_parity_table_names_a_test_that_exists() -> None:
    """A test that is renamed is renamed here, too: the page cannot lie about it."""
    lost = [
        line.id
        for line in parity_page.lines()
        if line.evidence
        and not (
            line.file.is_file()
            and (not line.function or f"def {line.function}(" in line.file.read_text("utf-8"))
        )
    ]
    assert lost == []


def test_every_line_of_the_parity_table_has_a_state_and_a_reason() -> None:
    """What works or differs names its test; what is not there yet says what that is."""
    table = parity_page.lines()
    assert [line.id for line in table if line.state not in parity_page.STATES] == []
    assert [line.id for line in table if not line.text] == []
    assert [line.id for line in table if line.state != "not yet" and not line.evidence] == []
    assert len({line.id for line in table}) == len(table)


def test_every_line_of_the_parity_table_names_a_test_and_not_only_its_file() -> None:
    """A file has many tests; a reader wants the one that shows the feature."""
    table = parity_page.lines()
    assert [line.id for line in table if line.evidence.endswith(".py")] == []


def test_tests_in_the_failure_matrix_exist() -> None:
    """A failure without its test is a promise without a proof."""
    page = (DOCS / "reference" / "failures.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+test_\w+\.py)`", page))
    assert [path for path in sorted(named) if not (ROOT / "tests" / path).is_file()] == []
    rows = [line for line in page.splitlines() if re.search(r"\(FM-\d\d\)", line)]
    assert len(rows) == 15
    assert [row for row in rows if "test_" not in row] == []
