"""The commands that talk to a broker, against a real one.

Exercises ``cli.broker``, ``cli.consume``, ``cli.produce`` and ``cli.topics``.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.kafka.admin import Admin
from tests.integration.kafka.records import read

pytestmark = pytest.mark.kafka

Run = Callable[..., Result]


@pytest.fixture
def run(kafka_broker: str) -> Run:
    def call(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(app, [*arguments, "--bootstrap", kafka_broker], input=stdin)

    return call


def test_topics_are_created_listed_described_and_deleted(run: Run) -> None:
    """The whole life of a topic, without Kafka's own tools."""
    options = ("--partitions", "2", "--config", "cleanup.policy=compact")
    assert run("topics", "create", "cli-life", *options).exit_code == 0
    again = run("topics", "create", "cli-life", *options)
    assert (again.exit_code, "[topic-exists]" in again.stderr) == (1, True)
    assert run("topics", "create", "cli-life", *options, "--if-not-exists").exit_code == 0
    listed = json.loads(run("topics", "list", "--json").stdout)
    assert {"topic": "cli-life", "partitions": 2, "replication": 1, "records": 0} in listed
    described = json.loads(run("topics", "describe", "cli-life", "--json").stdout)
    assert described["config"] == {"cleanup.policy": "compact"}
    assert [item["end"] for item in described["partitions"]] == [0, 0]
    assert "cleanup.policy=compact" in run("topics", "describe", "cli-life").stdout
    assert run("topics", "delete", "cli-life").exit_code == 0
    assert run("topics", "delete", "cli-life").exit_code == 1


def test_lines_of_stdin_become_records(
    run: Run, kafka_broker: str, new_topic: Callable[..., str]
) -> None:
    """Keys before the separator; a chosen text deletes."""
    topic = new_topic()
    sent = run("produce", topic, "-s", "=", "--null", "-", stdin="a=1\nb=x=y\na=-\n")
    assert (sent.exit_code, sent.stderr) == (0, f"✓ 3 records to {topic}\n")
    assert read(kafka_broker, topic) == [("a", "1"), ("b", "x=y"), ("a", None)]


def test_produced_records_are_consumed_with_everything(
    run: Run, new_topic: Callable[..., str]
) -> None:
    """Serdes by name, headers, time and partition make the round trip."""
    topic = new_topic(partitions=3)
    options = ("--key", "7", "-k", "long", "-v", "json", "-H", "from=test", "-p", "2")
    sent = run("produce", topic, '{"n":1}', *options, "-t", "1970-01-01T00:00:01", "--json")
    assert json.loads(sent.stdout) == [{"partition": 2, "offset": 0}]
    got = run("consume", topic, "--from-beginning", "-k", "long", "-v", "json", "--json")
    assert json.loads(got.stdout) == {
        "topic": topic, "partition": 2, "offset": 0, "timestamp": 1000,
        "key": 7, "value": {"n": 1}, "headers": [["from", "test"]],
    }  # fmt: skip
    text = run("consume", topic, "--from-beginning", "-k", "long", "--details").stdout
    assert text == f'1970-01-01 00:00:01.000  {topic}-2@0\t7\t{{"n":1}}\tfrom=test\n'


def test_keys_go_where_java_puts_them(run: Run, new_topic: Callable[..., str]) -> None:
    """murmur2: with 4 partitions Java puts 'a' and 'b' into other places than a CRC would."""
    topic = new_topic(partitions=4)
    run("produce", topic, "-s", ":", stdin="a:1\nb:2\nc:3\n")
    lines = run("consume", topic, "--from-beginning", "--json").stdout.splitlines()
    placed = {record["key"]: record["partition"] for record in map(json.loads, lines)}
    assert placed == {"a": 0, "b": 0, "c": 2}


def test_consume_stops_where_it_is_told(run: Run, new_topic: Callable[..., str]) -> None:
    """After so many records, or after so long without one."""
    topic = new_topic()
    run("produce", topic, "1", "2", "3")
    assert run("consume", topic, "--from-beginning", "-n", "2").stdout == "null\t1\nnull\t2\n"
    followed = run("consume", topic, "--from-beginning", "--follow", "--idle", "0.5")
    assert followed.stdout == "null\t1\nnull\t2\nnull\t3\n"
    assert run("consume", topic, "--idle", "0.5").stdout == ""


def test_record_of_another_format_is_shown_with_a_warning(
    run: Run, new_topic: Callable[..., str]
) -> None:
    """One bad record does not hide the rest of the topic."""
    topic = new_topic()
    run("produce", topic, "not a long", "12345678")
    got = run("consume", topic, "--from-beginning", "-v", "long")
    assert got.exit_code == 0
    assert got.stdout.splitlines()[0] == "null\tnot a long"
    assert f"{topic} partition 0 offset 0: the value is not long" in got.stderr


def test_value_that_does_not_fit_names_its_line(run: Run, new_topic: Callable[..., str]) -> None:
    """What came before it is written."""
    topic = new_topic()
    result = run("produce", topic, "-v", "long", stdin="1\nx\n3\n")
    assert result.exit_code == 1
    assert "[bad-value] 'x' is not a value of 'long'" in result.stderr
    assert "at:  record 2" in result.stderr


@pytest.mark.parametrize("command", [("produce", "no-topic", "x"), ("consume", "no-topic")])
def test_unknown_topic_is_refused_at_once(run: Run, command: tuple[str, ...]) -> None:
    """Without waiting for a topic that will not come."""
    result = run(*command)
    assert (result.exit_code, "[unknown-topic]" in result.stderr) == (1, True)


def test_project_broker_is_found_from_below_and_keeps_its_data(
    needs_java: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start, use without an address, stop, start: the topic is still there."""

    def call(*arguments: str) -> Result:
        return CliRunner().invoke(app, arguments)

    monkeypatch.chdir(tmp_path)
    started = json.loads(call("broker", "start", "--json").stdout)
    try:
        assert call("broker", "start").exit_code == 0
        assert call("broker", "start", "--port", "1").exit_code == 1
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        assert call("topics", "create", "kept").exit_code == 0
        status = call("broker", "status", "--json")
        assert (status.exit_code, json.loads(status.stdout)) == (0, started)
        assert (tmp_path / ".penstock" / ".gitignore").read_text() == "*\n"
    finally:
        assert call("broker", "stop").exit_code == 0
    assert call("broker", "status").exit_code == 1
    refused = call("topics", "list")
    assert (refused.exit_code, "is stopped" in refused.stderr) == (1, True)
    monkeypatch.chdir(tmp_path)
    again = json.loads(call("broker", "start", "--json").stdout)
    try:
        assert again["cluster_id"] == started["cluster_id"]
        assert again["port"] == started["port"]
        assert "kept" in Admin({"bootstrap.servers": again["bootstrap_servers"]}).topics()
    finally:
        assert call("broker", "stop", "--delete-data").exit_code == 0
    assert not (tmp_path / ".penstock" / "broker").exists()


def test_record_at_time_0_is_not_a_record_of_now(run: Run, new_topic: Callable[..., str]) -> None:
    """Kafka's client writes the present time for 0; the record gets the nearest time to it."""
    topic = new_topic()
    sent = run("produce", topic, "old", "-t", "0")
    assert "cannot write time 0" in sent.stderr
    got = json.loads(run("consume", topic, "--from-beginning", "--json").stdout)
    assert got["timestamp"] == 1
