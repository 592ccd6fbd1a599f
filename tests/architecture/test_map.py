"""The map of the code names files that exist."""

import re

from tests.architecture.source import PACKAGE, ROOT

PAGE = (ROOT / "docs/contributing/architecture.md").read_text(encoding="utf-8")


def test_every_path_on_the_map_exists() -> None:
    """A file that is moved is moved on the map, too."""
    named = set(re.findall(r"`([\w/]+(?:\.py|\.md|\.lark|/))`", PAGE))
    named |= set(re.findall(r"\bstate/\w+/\w+\.py", PAGE))
    tops = (PACKAGE, ROOT / "tests", ROOT / "docs")
    known = [f"/{each.relative_to(ROOT).as_posix()}" for top in tops for each in top.rglob("*")]
    lost = {
        name
        for name in named
        if not any(f"{each}/".endswith(f"/{name.rstrip('/')}/") for each in known)
    }
    assert lost == set()


def test_the_map_has_every_package() -> None:
    """A reader who meets a package can look up what it is for."""
    packages = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    assert packages - set(re.findall(r"^\| `(\w+)/` \|", PAGE, re.MULTILINE)) == set()
