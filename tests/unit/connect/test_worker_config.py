"""What a worker is started with: ``worker_config``, ``worker_folder`` and ``connect.access``."""

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock.connect.access import ConnectAccess
from penstock.connect.errors import ConnectError, UnknownConnectorError
from penstock.connect.rest_client import RestConnect
from penstock.connect.worker import EmbeddedWorker, telling
from penstock.connect.worker_config import (
    group_of,
    read_properties,
    read_worker_config,
    storage_topics,
    worker_properties,
)
from penstock.connect.worker_folder import WorkerFolder

CLUSTER = {
    "bootstrap.servers": "h:9092",
    "security.protocol": "SASL_SSL",
    "sasl.jaas.config": "x",
    "commit.interval.ms": 5,
}


def test_clients_of_a_worker_reach_the_cluster_as_the_engine_does() -> None:
    """Connectors have clients of their own, which need the login, too."""
    made = worker_properties(CLUSTER, "shop_", port=1, plugins=[Path("/p")])
    assert made["bootstrap.servers"] == "h:9092"
    for prefix in ("", "producer.", "consumer.", "admin."):
        assert made[f"{prefix}sasl.jaas.config"] == "x"
    assert "producer.bootstrap.servers" not in made
    assert "commit.interval.ms" not in made
    assert made["group.id"] == group_of("shop_") == "_penstock-connect-shop"
    assert made["config.storage.topic"] == storage_topics("shop_")["config.storage.topic"]


def test_settings_of_the_user_win_except_for_the_address() -> None:
    """A worker that listened elsewhere would not be found."""
    given = {"group.id": "mine", "plugin.path": "/a, /p", "listeners": "http://0.0.0.0:80"}
    made = worker_properties(CLUSTER, "s", port=7, plugins=[Path("/p")], given=given)
    assert made["group.id"] == "mine"
    assert made["plugin.path"] == "/p,/a"
    assert made["listeners"] == "http://127.0.0.1:7"


def test_properties_are_read_as_java_reads_them(tmp_path: Path) -> None:
    """Comments, lines that go on, both separators and escapes."""
    file = tmp_path / "worker.properties"
    file.write_text("! no\n\na=1\nb : x=y\nc=one,\\\n   two\nd=caf\\u00e9\\tz\n", encoding="utf-8")
    expected = {"a": "1", "b": "x=y", "c": "one,two", "d": "caf\u00e9\tz"}
    assert read_worker_config(str(file)) == expected
    assert read_properties("lonely") == {"lonely": ""}
    with pytest.raises(ConnectError, match="cannot be read"):
        read_worker_config(str(tmp_path / "missing"))


def test_the_worker_s_file_is_for_its_user_alone(tmp_path: Path) -> None:
    """It has the cluster's passwords in it."""
    folder = WorkerFolder(tmp_path / "w")
    lock = folder.lock()
    folder.prepare(1234, {"a": "b\\c"})
    assert stat.S_IMODE(folder.properties.stat().st_mode) == 0o600
    assert folder.properties.read_text(encoding="utf-8") == "a=b\\\\c\n"
    assert folder.url == "http://127.0.0.1:1234"
    assert folder.is_in_use()
    with pytest.raises(ConnectError, match="already runs"):
        folder.lock()
    open(lock, "rb").close()
    assert not folder.is_in_use()
    assert "no log" in folder.log_tail()


def test_a_url_is_asked_with_its_login(tmp_path: Path) -> None:
    """With a URL, nothing is started."""
    settings = {"ksql.connect.url": "http://h:1", "ksql.connect.basic.auth.user.info": "ann:p:w"}
    access = ConnectAccess(settings, CLUSTER)
    client = access.client()
    assert isinstance(client, RestConnect)
    assert client.url == "http://h:1"
    assert access._login() == ("ann", "p:w")
    file = tmp_path / "login"
    file.write_text("username=bob\npassword=b", encoding="utf-8")
    by_file = ConnectAccess({"ksql.connect.basic.auth.credentials.file": str(file)}, None)
    assert by_file._login() == ("bob", "b")
    file.write_text("username=bob", encoding="utf-8")
    with pytest.raises(ConnectError, match="who logs in"):
        by_file._login()


def test_without_url_and_cluster_there_is_nobody_to_ask() -> None:
    """The error says both ways out."""
    with pytest.raises(ConnectError) as refused:
        ConnectAccess({}, None).client()
    assert refused.value.code == "no-connect"
    assert "ksql.connect.url" in (refused.value.fix or "")
    with pytest.raises(ConnectError, match="cannot be"):
        ConnectAccess(
            {"ksql.connect.url": "http://h:1", "ksql.connect.request.timeout.ms": "soon"}, None
        ).client()


def test_connectors_of_an_earlier_run_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their topic is there, so somebody has created connectors: then the worker starts at once."""
    launched: list[Any] = []
    monkeypatch.setattr(EmbeddedWorker, "launch", lambda self, _: launched.append(self))
    access = ConnectAccess({"ksql.service.id": "shop_"}, CLUSTER)
    assert not access.resume(dict)
    assert launched == []
    access.resume(lambda: {"_penstock-connect-shop-configs": None})
    assert len(launched) == 1
    elsewhere = ConnectAccess({"ksql.connect.url": "http://h:1"}, CLUSTER)
    elsewhere.resume(lambda: {"_penstock-connect-default-configs": None})
    assert len(launched) == 1


def test_without_connectors_no_worker_starts_for_a_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The answer is known: nobody has created one. With connectors, their worker is asked."""
    client = RestConnect("http://h:1")
    monkeypatch.setattr(EmbeddedWorker, "client", lambda self: client)
    access = ConnectAccess({"ksql.service.id": "shop_"}, CLUSTER)
    none = access.existing(dict)
    assert none.connectors() == []
    for ask in (none.describe, none.status, none.topics, none.delete):
        with pytest.raises(UnknownConnectorError, match="no connector 'a'"):
            ask("a")
    assert access._worker is None
    assert access.existing(lambda: {"_penstock-connect-shop-configs": None}) is client
    elsewhere = ConnectAccess({"ksql.connect.url": "http://h:1"}, CLUSTER)
    assert isinstance(elsewhere.existing(dict), RestConnect)
    with pytest.raises(ConnectError, match="no Kafka Connect to ask"):
        ConnectAccess({}, None).existing(dict)


def test_a_start_is_told_where_it_is_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A caller gets every text, a log each stage once, a terminal one line that is cleared."""
    told: list[str] = []
    for progress in (told.append, None):
        with telling(progress) as report:
            for text in ("jars: 1 MB", "jars: 2 MB", "a worker starts"):
                report(text)
    assert told == ["jars: 1 MB", "jars: 2 MB", "a worker starts"]
    seen = capsys.readouterr().err
    assert seen == "Kafka Connect: jars: 1 MB\nKafka Connect: a worker starts\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with telling(None) as report:
        report("jars: 1 MB")
        report("a worker starts")
    lines = capsys.readouterr().err.split("\r\033[K")
    assert lines == ["", "Kafka Connect: jars: 1 MB", "Kafka Connect: a worker starts", ""]


def test_requests_side_by_side_have_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers would run every connector twice, and only one of them would be stopped."""
    made: list[EmbeddedWorker] = []
    both = threading.Barrier(2)

    class SlowlyMade(EmbeddedWorker):
        def __init__(self, *args: Any, **named: Any) -> None:
            with suppress(threading.BrokenBarrierError):
                both.wait(0.1)
            super().__init__(*args, **named)
            made.append(self)

    monkeypatch.setattr("penstock.connect.access.EmbeddedWorker", SlowlyMade)
    access = ConnectAccess({}, CLUSTER)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: access._own_worker(), range(2)))
    assert found == [made[0], made[0]]
    assert len(made) == 1


def test_a_worker_that_was_not_started_has_no_folder() -> None:
    """And stopping it does nothing."""
    worker = EmbeddedWorker(CLUSTER, "s")
    assert not worker.is_running
    worker.stop()
    with pytest.raises(ConnectError, match="not started"):
        _ = worker.url
