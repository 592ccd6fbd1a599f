"""The distribution is called ``penstock-streams``, and every command to install it says so."""

import re

from packaging.requirements import Requirement

import penstock
from penstock.extras import DISTRIBUTION
from tests.architecture.source import ROOT
from tests.architecture.test_repository import PROJECT

#: "penstock" on the package index belongs to another project.
FOREIGN = re.compile(r"pip install (-\S+ )*['\"]?penstock(?!-streams)\b|\bpenstock\[[a-z]")


def pages() -> list[tuple[str, str]]:
    files = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"]
    files += [
        file
        for folder in ("docs", "src", "deploy", "examples")
        for file in sorted((ROOT / folder).rglob("*"))
        if file.suffix in {".md", ".py", ".sql", ".yaml", ".yml", ".txt", ".toml"}
    ]
    return [(str(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) for file in files]


def test_distribution_has_its_own_name_on_the_package_index() -> None:
    """The import name and the name on the index differ, as with many packages."""
    assert PROJECT["project"]["name"] == DISTRIBUTION == "penstock-streams"
    assert penstock.__name__ == "penstock"


def test_no_page_or_error_installs_somebody_elses_package() -> None:
    """A newcomer copies the command as it stands."""
    wrong = [
        f"{name}: {found.group()}" for name, text in pages() for found in FOREIGN.finditer(text)
    ]
    assert wrong == []


def test_extras_that_include_others_name_this_distribution() -> None:
    """Otherwise pip would fetch the other project of that name."""
    extras = PROJECT["project"]["optional-dependencies"]
    for lines in extras.values():
        for requirement in map(Requirement, lines):
            assert requirement.name != "penstock"
            if requirement.name == DISTRIBUTION:
                assert requirement.extras <= extras.keys()
