"""Kafka's jars from a repository: all of them, checked, or an error that names one."""

from __future__ import annotations

import hashlib
import threading
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from penstock.kafka.distribution import KAFKA_VERSION, MEGABYTES
from penstock.kafka.download.jar_download import (
    DownloadError,
    Jar,
    download_jars,
    listed_jars,
    megabytes,
)
from penstock.kafka.download.maven import Repository

CONTENT = {"/m2/org/x/one/1.0/one-1.0.jar": b"1" * 700_000, "/m2/org/x/two/2/two-2.jar": b"2"}
JARS = [
    Jar("org.x", "one", "1.0", hashlib.sha256(b"1" * 700_000).hexdigest(), 700_000),
    Jar("org.x", "two", "2", hashlib.sha256(b"2").hexdigest(), 1),
]


class Handler(BaseHTTPRequestHandler):
    """A repository that wants a login."""

    def do_GET(self) -> None:
        if self.headers["Authorization"] != "Basic " + b64encode(b"me:p&w").decode():
            self.send_error(401)
        elif self.path not in CONTENT:
            self.send_error(404)
        else:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(CONTENT[self.path])

    def log_message(self, *given: object) -> None: ...


@pytest.fixture
def repository() -> Iterator[Repository]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Repository(f"http://127.0.0.1:{server.server_port}/m2/", "me", "p&w")
        server.shutdown()


def test_jars_arrive_with_the_login_of_the_mirror(repository: Repository, tmp_path: Path) -> None:
    told: list[str] = []
    download_jars(JARS, repository, tmp_path / "jars", told.append)
    assert {f.name: f.stat().st_size for f in (tmp_path / "jars").iterdir()} == {
        "one-1.0.jar": 700_000, "two-2.jar": 1,
    }  # fmt: skip
    assert told[-1] == "downloading: 1 of 1 MB"


@pytest.mark.parametrize(
    ("jar", "reason"),
    [
        (Jar("org.x", "three", "3", "", 1), "three-3.jar: HTTP Error 404"),
        (JARS[1]._replace(sha256="0"), "two-2.jar: another file"),
    ],
)
def test_a_jar_that_is_missing_or_another_one_is_named(
    repository: Repository, tmp_path: Path, jar: Jar, reason: str
) -> None:
    """A file that somebody has exchanged must not run."""
    with pytest.raises(DownloadError, match=reason):
        download_jars([JARS[0], jar], repository, tmp_path / "jars", lambda text: None)


def test_a_repository_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="refused"):
        download_jars(JARS, Repository("http://127.0.0.1:1"), tmp_path / "jars", lambda text: None)


def test_list_has_the_broker_of_this_version() -> None:
    """Its size is what the commands announce."""
    jars = listed_jars()
    assert f"org/apache/kafka/kafka_2.13/{KAFKA_VERSION}/kafka_2.13-{KAFKA_VERSION}.jar" in [
        jar.path for jar in jars
    ]
    assert megabytes(jars) == MEGABYTES
    assert all(len(jar.sha256) == 64 for jar in jars)
    assert len({jar.file for jar in jars}) == len(jars)
