"""The link of ``penstock run --console``: where the console is, and what opens it."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.cli import connection, console_link
from penstock.cli import run as command
from penstock.cli.console_link import ConsoleLink, has_browser
from penstock.cli.main import app
from penstock.config import StreamsConfig
from penstock.serving.credentials import Access
from penstock.serving.options import ServerOptions

PROGRAM = """
import penstock as ps
builder = ps.StreamsBuilder()
builder.stream("words").group_by_key().count("counts")
config = {"bootstrap.servers": "here:1"}
"""


def test_a_program_without_a_server_gets_one_on_this_machine() -> None:
    """With a token behind the #, under which everything may be done."""
    link = ConsoleLink.of({"application.id": "shop"})
    options = ServerOptions.of(StreamsConfig({"application.id": "shop", **link.settings}))
    assert options is not None
    assert (options.host, options.port) == ("127.0.0.1", link.address[1])
    url, _, token = link.url.partition("#token=")
    assert url == f"http://127.0.0.1:{options.port}/console/"
    assert options.credentials.access(f"Bearer {token}".encode()) is Access.FULL
    assert options.credentials.access(None) is Access.NONE
    assert ConsoleLink.of({"application.id": "shop"}).url.partition("#")[2] != token


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({"penstock.server.read.tokens": "t"}, "http://shop:80/console/"),
        ({"penstock.server.users": "ann:x"}, "http://shop:80/console/"),
        (
            {"penstock.server.tls.certificate": "c", "penstock.server.tokens": "t"},
            "https://shop:80/console/",
        ),
    ],
)
def test_an_address_and_credentials_of_the_program_stay(given: dict[str, Any], url: str) -> None:
    """The user knows the token; the link has none."""
    link = ConsoleLink.of({"application.server": "shop:80", **given})
    assert (link.url, dict(link.settings), link.address) == (url, {}, ("shop", 80))


def test_the_browser_opens_when_the_server_answers() -> None:
    """Not before: it would show an error and not try again."""
    link, opened, is_open = ConsoleLink.of({}), list[str](), threading.Event()

    def open_it(url: str) -> None:
        opened.append(url)
        is_open.set()

    link.open_when_served(open_it)
    assert not is_open.wait(0.5)
    with socket.create_server(link.address):
        assert is_open.wait(30)
    assert opened == [link.url]


@pytest.mark.parametrize(
    ("is_terminal", "platform", "screen", "expected"),
    [
        (True, "linux", ":0", True),
        (True, "linux", "", False),
        (True, "darwin", "", True),
        (False, "linux", ":0", False),
    ],
)
def test_a_browser_is_opened_only_where_a_person_sees_it(
    is_terminal: bool, platform: str, screen: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in a pipe, and not over a browser of the terminal."""
    monkeypatch.setattr(console_link.sys.stdout, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(console_link.sys, "platform", platform)
    monkeypatch.setenv("DISPLAY", screen)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert has_browser() is expected


def test_run_prints_the_address_and_serves_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings of the run are those of the link."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(connection, "running_project_broker", lambda: None)
    monkeypatch.setattr(command, "run_once", lambda loaded, settings, *_: found.update(settings))
    monkeypatch.setattr(command, "_print_end", lambda last: None)
    program = tmp_path / "app.py"
    program.write_text(PROGRAM)
    done = CliRunner().invoke(app, ["run", str(program), "--console"])
    assert done.exit_code == 0, done.output
    (token,) = found["penstock.server.tokens"]
    url = f"http://{found['application.server']}/console/#token={token}"
    assert url in "".join(done.output.split("\n"))


def test_a_script_has_no_console_of_its_own(tmp_path: Path) -> None:
    """Its server has one."""
    script = tmp_path / "views.sql"
    script.write_text("SHOW STREAMS;")
    done = CliRunner().invoke(app, ["run", str(script), "--console"])
    assert done.exit_code == 2
    assert "no console of its own" in done.output
