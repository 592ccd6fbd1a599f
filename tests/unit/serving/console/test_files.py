"""The page is served with a strict policy, needs no credentials, and names nobody else."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.console.files import POLICY, console_files, is_console_path
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.unit.serving.test_server import Client, application

MOST_BYTES = 300_000
#: XML's names of its own formats look like addresses, and nobody is asked for them.
NAMESPACES = re.compile(rb"http://www\.w3\.org/(2000/svg|1999/xhtml|1998/Math/MathML|1999/xlink)")


@pytest.fixture(scope="module")
def guarded() -> Iterator[Client]:
    options = ServerOptions(credentials=Credentials.of(read_tokens=("secret",)))
    with ServingServer(application(), options) as server:
        yield Client(server.port)


def test_the_page_needs_no_credentials_and_the_data_does(guarded: Client) -> None:
    """The page asks its user for a token; it holds no data itself."""
    status, body, _ = guarded.get("/console/")
    assert (status, body.startswith(b"<!doctype html>")) == (200, True)
    assert guarded.get("/about")[0] == 401
    assert guarded.get("/status")[0] == 401


def test_the_address_without_a_slash_leads_to_the_page(guarded: Client) -> None:
    """Relative, so that a proxy may put a path in front."""
    status, _, headers = guarded.get("/console")
    assert (status, headers["location"]) == (308, "console/")


def test_every_file_has_the_policy_and_its_type(guarded: Client) -> None:
    """Scripts and styles come only from the server, and nothing may be inline."""
    for name, file in console_files().items():
        status, body, headers = guarded.get(f"/console/{name}")
        assert (status, body) == (200, file.data)
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
    assert "unsafe" not in POLICY
    assert "data:" not in POLICY
    assert re.findall(r"https?:", POLICY) == []


def test_a_browser_that_has_a_file_is_not_sent_it_again(guarded: Client) -> None:
    """A new version of the package has other files under the same names."""
    _, _, headers = guarded.get("/console/app.js")
    assert guarded.get("/console/app.js", If_None_Match=headers["etag"])[0] == 304
    _, packed, headers = guarded.get("/console/app.js", Accept_Encoding="gzip, br")
    assert headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == console_files()["app.js"].data


@pytest.mark.parametrize(
    "path", ["/console/nothing.js", "/console/..%2f__init__.py", "/console/x/y"]
)
def test_there_is_nothing_but_the_files(guarded: Client, path: str) -> None:
    """No path leads out of the folder."""
    assert guarded.get(path)[0] in (401, 404)


def test_other_paths_that_begin_alike_are_not_open() -> None:
    """Only the page itself needs no credentials."""
    assert is_console_path("/console/app.js")
    assert not is_console_path("/console-x")
    assert not is_console_path("/consoles/stores")


def test_no_file_names_another_server() -> None:
    """The console works without any network, and tells nobody that it is used."""
    for name, file in console_files().items():
        if name != "notices.txt":
            text = NAMESPACES.sub(b"", file.data)
            assert re.findall(rb"[a-z]+://[^\s\"'`]{0,40}|[\"'`(]//[a-z]", text) == [], name


def test_nothing_is_inline() -> None:
    """The policy would refuse it, and the page would be broken."""
    html = console_files()["index.html"].data.decode()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", html) == []


def test_the_bundle_is_small() -> None:
    """All of it, as it goes over the wire."""
    assert sum(len(file.packed) for file in console_files().values()) < MOST_BYTES
