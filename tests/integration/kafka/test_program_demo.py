"""``program_demo`` fills topics, waits and reads outputs; ``replay.topic_reader`` reads ranges."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock import StreamsConfig
from penstock.cli.demo import program_demo
from penstock.cli.demo.program_demo import ProgramDemo, with_samples, write_samples
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.snapshot import Snapshot
from penstock.errors import InvalidArgumentError, StreamsError
from penstock.kafka.admin import Admin
from penstock.kafka.topic_reader import read_to_end
from penstock.runtime.local.outbox import InputRecord
from penstock.runtime.states import State

pytestmark = pytest.mark.kafka

PROGRAM = """
from penstock import StreamsBuilder
config = {{"application.id": "demo-test"}}
def build():
    builder = StreamsBuilder()
    builder.stream({source!r}).map_values(len).to({sink!r}, value=int)
    return builder.build()
def show(streams):
    print("asked", streams.name)
"""

IDLE = Snapshot(0.0, State.RUNNING, metrics=SimpleNamespace(lag={}))  # type: ignore[arg-type]


@pytest.fixture
def program(tmp_path: Path, new_topic: Callable[..., str]) -> LoadedProgram:
    source, sink = new_topic("demo-in", partitions=2), new_topic("demo-out", partitions=2)
    (tmp_path / "app.py").write_text(PROGRAM.format(source=source, sink=sink), encoding="utf-8")
    record = {"topic": source, "key": "a", "value": "hello", "ago": 1}
    (tmp_path / "data.jsonl").write_text(json.dumps(record), encoding="utf-8")
    return load_program(str(tmp_path / "app.py"))


def test_demo_writes_samples_and_shows_outputs(
    program: LoadedProgram,
    kafka_broker: str,
    kafka_admin: Admin,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The program's own ``show`` may ask it before it is closed."""
    monkeypatch.setattr(program_demo, "_IDLE_S", 0.0)
    filled = with_samples(program)
    assert filled.prepare is not None
    filled.prepare(kafka_broker)
    (source, sink) = program_demo.external_topics(program.topology.graph)
    places = [(source, 0), (source, 1)]
    assert sum(kafka_admin.end_offsets(places).values()) == 1
    write_samples(kafka_broker, [InputRecord(sink, b"a", (5).to_bytes(8, "big"), 1_000)], ())

    config = StreamsConfig({"application.id": "demo-test", "bootstrap.servers": kafka_broker})
    demo = ProgramDemo(program, SimpleNamespace(name="it"), config)
    assert not demo.is_over(replace(IDLE, state=State.REBALANCING))
    assert demo.is_over(IDLE)
    assert (sink, "a", 5) in demo.outputs
    assert source not in {topic for topic, _, _ in demo.outputs}
    demo.print(as_json=False)
    assert "asked it" in capsys.readouterr().out
    demo.print(as_json=True)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"topic": sink, "key": "a", "value": 5} in lines


def test_show_that_fails_is_told_at_the_end(
    program: LoadedProgram, kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The application is closed before; the error has the line of the program."""
    monkeypatch.setattr(program_demo, "_IDLE_S", 0.0)
    config = StreamsConfig({"application.id": "demo-test", "bootstrap.servers": kafka_broker})
    demo = ProgramDemo(program, object(), config)
    assert demo.is_over(IDLE)
    with pytest.raises(StreamsError, match="show-failed") as caught:
        demo.print(as_json=False)
    assert caught.value.at is not None
    assert caught.value.at.endswith("app.py:9")


def test_program_without_sample_data_is_refused(program: LoadedProgram) -> None:
    """The error names the files that it looked for."""
    (program.path.parent / "data.jsonl").unlink()
    with pytest.raises(InvalidArgumentError, match="no sample data beside") as caught:
        with_samples(program)
    assert caught.value.fix is not None
    assert "data.jsonl" in caught.value.fix


def test_range_is_read_without_what_lies_outside(
    kafka_broker: str, new_topic: Callable[..., str]
) -> None:
    """A partition whose range is empty is not waited for."""
    topic = new_topic("range", partitions=2)
    records = [InputRecord(topic, b"k", str(n).encode(), 1_000 + n) for n in range(6)]
    write_samples(kafka_broker, records, ())
    settings = {"bootstrap.servers": kafka_broker}
    admin = Admin(settings)
    ends = admin.end_offsets([(topic, 0), (topic, 1)])
    (full,) = (place for place, end in ends.items() if end == 6)
    spans = {place: (2, 5) if place == full else (0, 0) for place in ends}
    assert [message.value() for message in read_to_end(settings, spans)] == [b"2", b"3", b"4"]
    assert list(read_to_end(settings, {})) == []
