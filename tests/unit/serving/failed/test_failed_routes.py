"""Dead letters over HTTP: who may read them, and who may send them again.

Exercises ``failed.models``.
"""

from __future__ import annotations

import http.client
import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")

from penstock.serving.application import NotAvailableError
from penstock.serving.credentials import Credentials
from penstock.serving.options import Limits, ServerOptions
from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import MemoryApplication, one_instance
from tests.unit.serving.memory_letters import MemoryLetters, letter
from tests.unit.serving.test_server import Client

OPTIONS = ServerOptions(
    credentials=Credentials.of(
        read_tokens=("reader",), write_tokens=("writer",), write_users=(("ann", "secret"),)
    ),
    limits=Limits(request_bytes=4_096),
)
READER = {"Authorization": "Bearer reader"}
ANN = {"Authorization": "Basic " + b64encode(b"ann:secret").decode()}


class Server(Client):
    def __init__(self, port: int, application: MemoryApplication, letters: MemoryLetters) -> None:
        super().__init__(port)
        self.application, self.letters = application, letters

    def post(self, body: Any, path: str = "/failed-records/redrive", **headers: str) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request("POST", path, data, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()


@pytest.fixture
def server() -> Iterator[Server]:
    application = one_instance()
    letters = application.letters = MemoryLetters(
        letter(0, KeyError("amount"), value=b'{"sum":1}'),
        letter(1, KeyError("amount"), value=b'{"text":"' + b"x" * 3_000 + b'"}'),
        letter(2, ValueError("no JSON"), value=b"{", node="orders-source"),
    )
    with ServingServer(application, OPTIONS) as served:
        yield Server(served.port, application, letters)


def test_letters_are_listed_by_error_and_node(server: Server) -> None:
    """With the line of the program, and the records decoded as the program does."""
    status, body, _ = server.get("/failed-records", **READER)
    assert (status, body["topic"], body["count"], body["is_whole"]) == (200, "dead", 3, True)
    assert body["through"] == {"0": 3}
    first, second = body["groups"]
    assert (first["error"], first["node"], first["count"]) == ("KeyError", "price", 2)
    assert (first["site"], first["left"], first["topics"]) == ("shop.py:28", 2, ["orders"])
    long, short = first["records"]
    assert (short["key"], short["value"], short["is_decoded"]) == ("o-1", {"sum": 1}, True)
    assert (short["topic"], short["source_partition"], short["source_offset"]) == ("orders", 3, 100)
    assert long["is_cut"]
    assert len(long["value"]) < 2_100
    assert (second["records"][0]["value"], second["records"][0]["is_decoded"]) == ("{", False)


def test_only_the_newest_letters_are_read(server: Server) -> None:
    """The list says that there are more."""
    _, body, _ = server.get("/failed-records?limit=1", **READER)
    assert (body["count"], body["is_whole"]) == (1, False)
    assert server.get("/failed-records?limit=0", **READER)[0] == 400
    assert server.get("/failed-records?since=1", **READER)[0] == 400


def test_one_letter_has_its_traceback_and_its_text(server: Server) -> None:
    """The value is whole, in a form that can be edited."""
    _, body, _ = server.get("/failed-records/0/1", **READER)
    assert len(body["record"]["value"]["text"]) == 3_000
    assert body["edit_key"] == {"form": "text", "text": "o-1"}
    assert body["edit_value"]["text"].startswith('{"text":"xxx')
    assert body["stacktrace"].startswith("KeyError")
    assert body["refused"] is None
    status, body, _ = server.get("/failed-records/0/99", **READER)
    assert (status, body["code"]) == (404, "no-such-letter")
    assert server.get("/failed-records/0/x", **READER)[0] == 400


def test_a_record_is_sent_again_with_the_name_of_the_user(server: Server) -> None:
    """The list then says where it went, and by whom."""
    edit = {"partition": 0, "offset": 0, "value": {"form": "text", "text": '{"amount":5}'}}
    status, body = server.post({"records": [edit], "note": "by hand"}, **ANN)
    assert (status, body["sent"], body["refused"]) == (200, 1, 0)
    assert body["records"][0]["to_partition"] == 3
    (sent,) = server.letters.records
    assert sent.value == b'{"amount":5}'
    assert dict(sent.headers)["__penstock.redrive.by"] == b"ann"
    _, body, _ = server.get("/failed-records", **READER)
    assert body["groups"][0]["left"] == 1
    assert body["groups"][0]["records"][1]["sent"]["by"] == "ann"


def test_a_group_is_sent_again_and_a_token_is_not_told(server: Server) -> None:
    """A header of a topic is no place for a secret, nor for its digest."""
    group = {"error": "KeyError", "node": "price", "through": {"0": 3}}
    status, body = server.post({"group": group}, Authorization="Bearer writer")
    assert (status, body["sent"]) == (200, 2)
    headers = dict(server.letters.records[0].headers)
    assert headers["__penstock.redrive.by"] == b"a token"
    assert b"writer" not in b"".join(value or b"" for value in headers.values())


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({}, 401, "unauthorized"),
        (READER, 403, "read-only"),
        ({**ANN, "Origin": "http://evil.example"}, 403, "other-origin"),
    ],
)
def test_only_who_may_write_sends(
    headers: dict[str, str], status: int, code: str, server: Server
) -> None:
    """A page of another site may not use the password that a browser remembers."""
    found, body = server.post({"records": [{"partition": 0, "offset": 0}]}, **headers)
    assert (found, body["code"]) == (status, code)
    assert server.letters.records == []


def test_without_credentials_nobody_sends() -> None:
    """Who needs no token may read, and no more."""
    application = one_instance()
    letters = application.letters = MemoryLetters(letter(0, KeyError("amount")))
    with ServingServer(application) as served:
        asked = Server(served.port, application, letters)
        assert asked.get("/failed-records")[0] == 200
        status, body = asked.post({"records": [{"partition": 0, "offset": 0}]})
    assert (status, body["code"], letters.records) == (403, "read-only", [])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "the body is wrong"),
        ({}, "give records or a group"),
        ({"records": [{"partition": 0, "offset": "1"}]}, "the body is wrong"),
        ({"records": [{"partition": 0, "offset": 1, "topic": "x"}]}, "the body is wrong"),
        ({"records": [{"partition": 0, "offset": 1, "key": {"form": "x", "text": ""}}]}, "no form"),
        ({"records": [{"partition": 0, "offset": 1}], "note": "x" * 201}, "the note"),
    ],
)
def test_a_wrong_body_is_refused(body: Any, said: str, server: Server) -> None:
    """With what is wrong about it."""
    status, answer = server.post(body, **ANN)
    assert status == 400
    assert said in answer["message"]
    assert server.letters.records == []


def test_a_large_body_is_refused_with_the_setting_to_raise(server: Server) -> None:
    """Also if the request does not state its length."""

    def chunks() -> Iterator[bytes]:
        yield b'{"note":"'
        for _ in range(8):
            yield b"x" * 1_000

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", "/failed-records/redrive", chunks(), ANN, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()


def test_an_application_without_dead_letters_says_so(server: Server) -> None:
    """And which setting keeps them."""
    server.application.letters = None
    _, body, _ = server.get("/failed-records", **READER)
    assert (body["topic"], body["groups"]) == (None, [])
    status, body, _ = server.get("/failed-records/0/0", **READER)
    assert (status, "errors.dead.letter.queue.topic.name" in body["fix"]) == (400, True)


def test_a_broker_that_is_away_can_be_asked_later(server: Server) -> None:
    """503, and when to ask again."""
    server.letters.failure = NotAvailableError("dead-letters-unreachable", "no broker")
    status, body, headers = server.get("/failed-records", **READER)
    assert (status, body["code"], headers["retry-after"]) == (503, "dead-letters-unreachable", "1")
