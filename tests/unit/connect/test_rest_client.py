"""The client of Connect's REST interface, against a server on loopback.

Exercises ``connect.connect`` and ``connect.errors``, too.
"""

import base64
import logging
import socket
from collections.abc import Iterator

import pytest

from penstock.connect import rest_client
from penstock.connect.errors import ConnectError, ConnectorExistsError, UnknownConnectorError
from penstock.connect.rest_client import RestConnect
from tests.unit.connect.fake_connect import Answers, rest_server

CONFIG = {"connector.class": "X", "password": "pw"}
INFO = {"name": "a/b", "type": "sink", "config": CONFIG, "tasks": [{"connector": "a", "task": 0}]}


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def client(answers: Answers) -> Iterator[RestConnect]:
    with rest_server(answers) as url:
        yield RestConnect(url, timeout_s=5)


def test_answers_become_values(answers: Answers, client: RestConnect) -> None:
    """Names go into paths as one part, whatever they are made of."""
    answers.say("GET", "/connectors", 200, ["b", "a"])
    answers.say("GET", "/connectors/a%2Fb", 200, INFO)
    status = {
        "name": "a/b", "type": "sink", "connector": {"state": "RUNNING", "worker_id": "w"},
        "tasks": [{"id": 0, "state": "FAILED", "worker_id": "w", "trace": "no"}],
    }  # fmt: skip
    answers.say("GET", "/connectors/a%2Fb/status", 200, status)
    answers.say("GET", "/connectors/a%2Fb/topics", 200, {"a/b": {"topics": ["t2", "t1"]}})
    answers.say("GET", "/connector-plugins", 200, [{"class": "X", "type": "sink", "version": "1"}])
    assert client.connectors() == ["a", "b"]
    assert client.describe("a/b").class_name == "X"
    assert client.describe("a/b").tasks == (0,)
    assert client.status("a/b").tasks[0].trace == "no"
    assert client.status("a/b").summary == "WARNING (0/1 tasks RUNNING)"
    assert client.topics("a/b") == ["t1", "t2"]
    assert client.plugins()[0].version == "1"


def test_validation_tells_errors_and_which_properties_are_secret(
    answers: Answers, client: RestConnect
) -> None:
    """Connect knows the passwords of a connector by their type."""
    configs = [
        {"definition": {"name": "file", "type": "STRING"}, "value": {"name": "file", "errors": []}},
        {"definition": {"name": "pin", "type": "PASSWORD"},
         "value": {"name": "pin", "errors": ["too short"]}},
    ]  # fmt: skip
    answers.say("PUT", "/connector-plugins/X/config/validate", 200, {"configs": configs})
    found = client.validate("X", CONFIG)
    assert found.errors == {"pin": ("too short",)}
    assert found.secret == {"pin"}


def test_creating_sends_the_configuration_and_logs_no_secret(
    answers: Answers, client: RestConnect, caplog: pytest.LogCaptureFixture
) -> None:
    """The password goes to Connect, and nowhere else."""
    caplog.set_level(logging.DEBUG)
    answers.say("POST", "/connectors", 201, INFO)
    assert client.create("a/b", CONFIG).name == "a/b"
    assert answers.asked[-1][2] == {"name": "a/b", "config": CONFIG}
    assert "creating connector" in caplog.text
    assert "pw" not in caplog.text


def test_a_rebalance_is_waited_for(
    answers: Answers, client: RestConnect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that share out their connectors refuse with 409 for a moment."""
    monkeypatch.setattr(rest_client, "_PAUSE_S", 0.0)
    answers.say("POST", "/connectors", 409, {"message": "Cannot complete request momentarily"})
    answers.say("POST", "/connectors", 201, INFO)
    client.create("a/b", CONFIG)
    answers.say("DELETE", "/connectors/a", 409, {"message": "stale configuration"})
    with pytest.raises(ConnectError, match="stale configuration") as refused:
        client.delete("a")
    assert refused.value.status == 409


def test_refusals_have_codes(answers: Answers, client: RestConnect) -> None:
    """Each says what is wrong, and keeps Connect's status."""
    answers.say("POST", "/connectors", 409, {"message": "Connector a already exists"})
    with pytest.raises(ConnectorExistsError):
        client.create("a", CONFIG)
    with pytest.raises(UnknownConnectorError) as unknown:
        client.delete("a")
    assert unknown.value.status == 404
    answers.say("GET", "/connector-plugins", 500, "<html>proxy</html>")
    with pytest.raises(ConnectError, match="answers 500: <html>") as broken:
        client.plugins()
    assert broken.value.code == "connect-refused"
    answers.say("GET", "/connectors", 401, {"message": "who are you"})
    with pytest.raises(ConnectError) as login:
        client.connectors()
    assert login.value.code == "connect-login"


def test_the_login_comes_from_the_url_or_from_the_settings(answers: Answers) -> None:
    """It is sent as basic authentication, and never part of an address that is printed."""
    answers.say("GET", "/connectors", 200, [])
    with rest_server(answers) as url:
        host = url.removeprefix("http://")
        client = RestConnect(f"http://ann:p%40w@{host}")
        client.connectors()
        assert answers.asked[-1][3] == "Basic " + base64.b64encode(b"ann:p@w").decode()
        assert client.url == url
        RestConnect(f"http://ann:pw@{host}", user=("bob", "b")).connectors()
        assert answers.asked[-1][3] == "Basic " + base64.b64encode(b"bob:b").decode()


def test_the_next_worker_answers_if_one_is_away(answers: Answers) -> None:
    """Several addresses may be given; an error names all of them."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{closed.getsockname()[1]}"
    answers.say("GET", "/connectors", 200, ["a"])
    with rest_server(answers) as url:
        assert RestConnect(f"{away}, {url}", timeout_s=5).connectors() == ["a"]
    with pytest.raises(ConnectError, match=r"cannot be asked at http.*; http") as unreachable:
        RestConnect(f"{away},{away}", timeout_s=5).connectors()
    assert unreachable.value.code == "connect-unreachable"
    assert not RestConnect(away, timeout_s=5).is_ready()


@pytest.mark.parametrize("url", ["", "localhost:8083", "ftp://host", "http://:80", "http://h:x"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    """The message does not repeat a login."""
    with pytest.raises(ConnectError) as refused:
        RestConnect(url)
    assert refused.value.code == "bad-connect-url"
    with pytest.raises(ConnectError) as refused:
        RestConnect("http//ann:secret@host:1")
    assert "secret" not in str(refused.value)
