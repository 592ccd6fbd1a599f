"""The private broker: what it keeps, what it refuses, and when it ends.

Exercises ``broker_process``, ``kafka.installation`` and ``kafka.processes.watchdog``.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.errors import BrokerError
from tests.integration.kafka.records import read, write

pytestmark = pytest.mark.kafka

OWNER = """
import os, time
from penstock.kafka.embedded import shared_broker

broker = shared_broker()
assert shared_broker() is broker
if os.fork() == 0:
    # A child that outlives its parent and still has all of its open files.
    time.sleep(60)
    os._exit(0)
print(broker.pid, broker.folder.root, flush=True)
time.sleep(60)
"""


def test_records_of_any_event_time_stay(kafka_broker: str, new_topic: Callable[..., str]) -> None:
    """Retention goes by event time; the private broker keeps the year 1970 and the year 2100."""
    topic = new_topic()
    write(kafka_broker, topic, [("a", "old")], timestamp=1)
    write(kafka_broker, topic, [("a", "far")], timestamp=4_102_444_800_000)
    assert read(kafka_broker, topic) == [("a", "old"), ("a", "far")]


def test_committed_transaction_shows_and_aborted_one_does_not(
    kafka_broker: str, new_topic: Callable[..., str]
) -> None:
    """Exactly once rests on this."""
    topic = new_topic()
    producer = Producer({"bootstrap.servers": kafka_broker, "transactional.id": topic})
    producer.init_transactions(30)
    for value, end in (("kept", producer.commit_transaction), ("gone", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value, "k")
        # An abort drops what was not sent yet; the point is what was.
        producer.flush(30)
        end(30)
    assert read(kafka_broker, topic) == [("k", "kept")]
    assert read(kafka_broker, topic, committed=False) == [("k", "kept"), ("k", "gone")]


def test_topics_are_made_on_purpose_only(kafka_broker: str) -> None:
    """A typing error in a name must not become a topic."""
    producer = Producer({"bootstrap.servers": kafka_broker, "message.timeout.ms": 1500})
    failures: list[object] = []
    producer.produce("never-made", "x", on_delivery=lambda error, _: failures.append(error))
    producer.flush(20)
    # A KafkaError must not be compared with None: the client leaves an exception behind.
    assert failures[0] is not None
    assert "never-made" not in Admin({"bootstrap.servers": kafka_broker}).topics()


def test_data_dir_keeps_cluster_port_and_records(needs_java: None, tmp_path: Path) -> None:
    """After a crash the broker is the same one, with the same records at the same address."""
    # Java reads its settings file in a character set of the last century.
    folder = tmp_path / "müller's broker 🚰"
    with EmbeddedBroker(folder) as broker:
        before = (broker.cluster_id, broker.port)
        Admin({"bootstrap.servers": broker.bootstrap_servers}).create_topic("t")
        write(broker.bootstrap_servers, "t", [("a", "1")])
        with pytest.raises(BrokerError, match=f"already runs .* port {broker.port}"):
            EmbeddedBroker(folder).start()
        broker.kill()
        assert not broker.is_running
        broker.start()
        assert (broker.cluster_id, broker.port) == before
        assert read(broker.bootstrap_servers, "t") == [("a", "1")]
    assert not broker.is_running
    assert (folder / "broker.log").read_text().count("Kafka version: 4.") == 2


def test_broker_ends_with_a_killed_owner_and_leaves_nothing(needs_java: None) -> None:
    """A killed program cannot clean up; what it started goes all the same."""
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().decode().split()
        assert is_alive(int(pid))
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        deadline = time.monotonic() + 20
        while (is_alive(int(pid)) or Path(folder).exists()) and time.monotonic() < deadline:
            time.sleep(0.05)
        # The forked child still sleeps; it holds standard output open.
        owner.stdout.close()
    assert not is_alive(int(pid))
    assert not Path(folder).exists()


def test_broker_that_cannot_start_shows_its_log(needs_java: None) -> None:
    """The reason stands in the broker's log, and so in the error."""
    with pytest.raises(BrokerError) as raised:
        EmbeddedBroker(properties={"num.io.threads": "none"}).start()
    assert raised.value.code == "broker-failed"
    assert "Invalid value none for configuration num.io.threads" in raised.value.message


def test_port_of_another_program_is_refused(needs_java: None) -> None:
    """A port that was asked for is not exchanged in silence."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BrokerError, match=f"port {port} .* is used by another program"):
            EmbeddedBroker(port=port).start()


def test_broker_that_was_not_started_says_so() -> None:
    """Its address is not known before."""
    with pytest.raises(BrokerError, match="was not started"):
        _ = EmbeddedBroker().bootstrap_servers


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # Gone, but nobody has asked for its exit status yet.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")
