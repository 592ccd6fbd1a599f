"""The files around the code agree with each other."""

import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source import ROOT

LOCK = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
DEMO_LOCK = (ROOT / "requirements" / "demo.lock").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def declared() -> Iterator[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    for lines in (
        PROJECT["project"]["dependencies"],
        PROJECT["dependency-groups"]["build"],
        [line for line in PROJECT["dependency-groups"]["dev"] if isinstance(line, str)],
        extras["docs"],
        extras["pydantic"],
        extras["spark"],
    ):
        yield from map(Requirement, lines)


def test_lock_satisfies_every_declared_dependency() -> None:
    """A dependency changed in pyproject.toml is locked again in the same change."""
    locked: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK, re.MULTILINE):
        locked.setdefault(canonicalize_name(name), set()).add(version)
    stale = [
        str(requirement)
        for requirement in declared()
        if not any(
            requirement.specifier.filter(locked.get(canonicalize_name(requirement.name), ()))
        )
    ]
    assert stale == []


def test_demo_installs_a_part_of_what_tests_need() -> None:
    """`make test` after `make demo` then only adds packages. It takes none back."""
    pins = re.compile(r"^[\w.-]+==[^\s;]+", re.MULTILINE)
    demo, every = set(pins.findall(DEMO_LOCK)), set(pins.findall(LOCK))
    assert demo < every
    needed = (
        PROJECT["project"]["dependencies"] + PROJECT["project"]["optional-dependencies"]["spark"]
    )
    names = {canonicalize_name(pin.partition("==")[0]) for pin in demo}
    assert {canonicalize_name(Requirement(line).name) for line in needed} <= names


@pytest.mark.parametrize("lock", [LOCK, DEMO_LOCK], ids=["dev", "demo"])
def test_lock_names_no_index(lock: str) -> None:
    """Where packages come from is a matter of the machine, not of the project."""
    assert "://" not in lock
    assert "index-url" not in lock


def test_every_documented_make_target_exists() -> None:
    """A command on the README or the contributing page can be typed as it stands."""
    described = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
    for page in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        named = set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
        assert named <= described, page
    required = {"help", "setup", "demo", "test", "lint", "docs", "bench", "chaos", "soak"}
    assert required <= described


def test_changelog_keeps_unreleased_on_top() -> None:
    """A user reads first what comes next."""
    headings = re.findall(
        r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert headings[0] == "Unreleased"
