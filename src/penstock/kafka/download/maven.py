"""Where jars come from: Maven Central, or the mirror of it that the user has set up for Maven."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

CENTRAL_URL = "https://repo1.maven.org/maven2"
_MAVEN_CENTRAL = frozenset({"*", "external:*", "central"})


class Repository(NamedTuple):
    """The address of a repository and, if it wants one, a login."""

    url: str
    user: str = ""
    password: str = ""


def maven_mirror(home: Path) -> Repository | None:
    """Return the mirror of Maven Central in the user's ``~/.m2/settings.xml``, if there is one."""
    settings = home / ".m2" / "settings.xml"
    if not settings.is_file():
        return None
    try:
        root = ElementTree.parse(settings).getroot()
    except ElementTree.ParseError:
        return None
    for mirror in root.iterfind("{*}mirrors/{*}mirror"):
        # "*,!internal" and "central,snapshots" include the central repository, too.
        covered = {part.strip() for part in _text(mirror, "mirrorOf").split(",")}
        url = _text(mirror, "url")
        if url and covered & _MAVEN_CENTRAL and "!central" not in covered:
            return Repository(url, *_login(root, _text(mirror, "id")))
    return None


def _login(root: ElementTree.Element, mirror: str) -> tuple[str, str]:
    for server in root.iterfind("{*}servers/{*}server"):
        user, password = _text(server, "username"), _text(server, "password")
        # A password in braces is encrypted with a key that only Maven has.
        if _text(server, "id") == mirror and user and not password.startswith("{"):
            return user, password
    return "", ""


def _text(element: ElementTree.Element, name: str) -> str:
    return (element.findtext(f"{{*}}{name}") or "").strip()
