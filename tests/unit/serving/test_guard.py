"""Requests of an attacker have no effect: no status 500, no data, no lost thread."""

from __future__ import annotations

import json
import socket
import threading
import time
from base64 import b64encode
from collections.abc import Iterator

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.application import Row
from penstock.serving.credentials import Credentials
from penstock.serving.options import ServerOptions
from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import one_instance, store_info
from tests.unit.serving.test_server import Client

SECRETS = ("full-secret", "read-secret", "user-secret")


@pytest.fixture(scope="module")
def guarded() -> Iterator[Client]:
    made = one_instance(store_info("counts"))
    made.cluster.put("counts", Row("ann", 1))
    credentials = Credentials.of(
        full_tokens=(SECRETS[0],), read_tokens=(SECRETS[1],), read_users=(("ann", SECRETS[2]),)
    )
    with ServingServer(made, ServerOptions(credentials=credentials)) as server:
        yield Client(server.port)


@pytest.fixture(scope="module")
def anonymous() -> Iterator[Client]:
    made = one_instance(store_info("counts"))
    made.cluster.put("counts", Row("ann", 1))
    with ServingServer(made, ServerOptions(names=frozenset({"example.org"}))) as server:
        yield Client(server.port)


def raw(client: Client, data: bytes, wait_s: float = 5.0) -> bytes:
    """Send bytes and return all that comes back until the server closes, or is done."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=wait_s) as connection:
        connection.sendall(data)
        found = b""
        try:
            while chunk := connection.recv(65536):
                found += chunk
                if b"\r\n\r\n" in found and found.endswith(b"}"):
                    break
        except (TimeoutError, ConnectionError):
            pass
        return found


@pytest.mark.parametrize(
    "header",
    [
        None,
        "Bearer wrong",
        "Bearer",
        "Bearer " + "x" * 5000,
        "Bearer read-secre",
        "Basic " + b64encode(b"ann:wrong").decode(),
        "Basic %%%",
        "Digest username=ann",
    ],
)
@pytest.mark.parametrize(
    "path",
    ["/stores", "/stores/counts/ann", "/metrics", "/openapi.json", "/nothing", "/feeds/counts"],
)
def test_without_the_right_token_there_is_nothing(
    guarded: Client, header: str | None, path: str
) -> None:
    named = {} if header is None else {"Authorization": header}
    status, body, headers = guarded.get(path, **named)
    assert (status, body["code"]) == (401, "unauthorized")
    assert headers["www-authenticate"].startswith("Bearer")
    assert not any(secret in json.dumps([body, headers]) for secret in SECRETS)


def test_each_kind_of_credentials_is_let_in(guarded: Client) -> None:
    user = "Basic " + b64encode(f"ann:{SECRETS[2]}".encode()).decode()
    for header in (f"Bearer {SECRETS[0]}", f"Bearer {SECRETS[1]}", user):
        assert guarded.get("/stores/counts/ann", Authorization=header)[0] == 200


def test_a_token_for_reading_does_not_write(guarded: Client) -> None:
    path = "/stores/counts/ann"
    assert guarded.get(path, "POST", Authorization=f"Bearer {SECRETS[1]}")[0] == 403
    status, _, headers = guarded.get(path, "POST", Authorization=f"Bearer {SECRETS[0]}")
    assert (status, headers["allow"]) == (405, "GET, HEAD")


def test_probes_learn_up_or_down_and_no_more(guarded: Client) -> None:
    for path in ("/health/live", "/health/ready"):
        assert guarded.get(path)[:2] == (200, {"status": "UP"})
        _, body, _ = guarded.get(path, Authorization=f"Bearer {SECRETS[1]}")
        assert body["state"] == "RUNNING"


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"]
)
def test_a_name_that_somebody_pointed_here_is_refused(anonymous: Client, host: str) -> None:
    status, body, _ = anonymous.get("/stores/counts/ann", Host=host)
    assert (status, body["code"]) == (403, "unknown-host")


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1:80", "EXAMPLE.org:8080", "[::1]:80", "10.1.2.3"]
)
def test_its_own_names_are_known(anonymous: Client, host: str) -> None:
    assert anonymous.get("/stores/counts/ann", Host=host)[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "//stores/counts/ann",
        "/stores//ann",
        "/stores/",
        "/stores/%2e%2e/%2e%2e/etc/passwd",
        "/stores/counts/..%2f..%2fetc%2fpasswd",
        "/stores/counts/%00",
        "/stores/counts/ann/",
        "/stores/counts/ann%0d%0aX-Evil:1",
        "/stores/counts%2Fann",
        "/STORES/counts",
        "/stores/counts/%",
        "/stores/counts/%zz",
        "/stores/counts/%c0%ae",
        "/topology/..",
        "/feeds/..%2f..",
        "/metadata/counts/a/b",
        "/stores/counts?from=%00&to=%ff",
        "/stores/counts?" + "&".join(f"a{n}=1" for n in range(100)),
        "/.git/config",
        "/*",
    ],
)
def test_tricks_with_paths_end_in_400_or_404(anonymous: Client, path: str) -> None:
    status, body, headers = anonymous.get(path)
    assert status in (400, 404)
    assert body["code"]
    assert "x-evil" not in headers


def test_requests_that_are_too_large_are_refused(anonymous: Client) -> None:
    assert anonymous.get("/stores/counts/" + "a" * 20_000)[0] == 414
    assert anonymous.get("/stores/counts?prefix=" + "a" * 20_000)[0] == 414
    assert anonymous.get("/stores", X_Large="a" * 20_000)[0] == 431
    head = b"POST /stores HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999\r\n\r\n"
    assert raw(anonymous, head).startswith(b"HTTP/1.1 413")
    # Beyond what the server reads at all.
    flood = b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"a" * 1_000_000
    assert b" 200 " not in raw(anonymous, flood)
    assert anonymous.get("/stores/counts/ann")[0] == 200


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x00" * 100,
        b"GET /stores HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST /stores HTTP/1.1\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
        b"GET /stores HTTP/1.1\r\nhost: \xff\xfe\r\n\r\n",
        b"GET /stores/counts/\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET http://evil.example/stores HTTP/1.1\r\nhost: evil.example\r\n\r\n",
    ],
)
def test_what_is_no_http_does_no_harm(anonymous: Client, data: bytes) -> None:
    answer = raw(anonymous, data, wait_s=1.0)
    assert b" 200 " not in answer.partition(b"\r\n")[0]
    assert b" 500 " not in answer.partition(b"\r\n")[0]
    assert anonymous.get("/stores/counts/ann")[0] == 200


def test_slow_clients_hold_up_nobody(anonymous: Client) -> None:
    before = threading.active_count()
    slow = [socket.create_connection(("127.0.0.1", anonymous.port)) for _ in range(100)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(b"GET /stores/counts/ann HTTP/1.1\r\nhost: loc"[: 5 + number % 40])
        began = time.monotonic()
        for _ in range(20):
            assert anonymous.get("/stores/counts/ann")[0] == 200
        assert time.monotonic() - began < 20
        assert threading.active_count() <= before + 8
    finally:
        for connection in slow:
            connection.close()


def test_a_client_that_leaves_before_the_answer_does_no_harm(anonymous: Client) -> None:
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", anonymous.port)) as connection:
            connection.sendall(b"GET /stores/counts HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert anonymous.get("/stores/counts/ann")[0] == 200
