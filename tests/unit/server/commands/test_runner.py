"""Commands of several nodes: one order, nothing twice, nothing lost; damage degrades a node."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from penstock.server.commands.backup import CommandBackup
from penstock.server.commands.command import Command
from penstock.server.commands.runner import CommandRunner, RunnerState
from penstock.server.commands.status import CommandStatus
from penstock.server.errors import NotCaughtUpError, NotReadyError
from tests.unit.server.memory import MemoryLog, MemoryTopic


class Node:
    """A runner whose catalog is the list of statements that it ran."""

    def __init__(self, topic: MemoryTopic, backup: CommandBackup | None = None) -> None:
        self.done: list[str] = []
        self.log = MemoryLog(topic)
        self.runner = CommandRunner(self.log, self.apply, backup)

    def apply(self, command: Command) -> CommandStatus:
        self.done.append(command.statement)
        return CommandStatus("SUCCESS", command.statement)

    def start(self) -> Node:
        self.runner.start()
        assert self.runner.wait_ready(10.0)
        return self

    def submit(self, text: str) -> int:
        def prepare(number: int) -> Command:
            return Command(id=f"stream/{text}/create", statement=text, number=number)

        written = self.runner.submit(prepare)
        assert written is not None
        return written[0]


def test_command_is_run_before_its_writer_goes_on() -> None:
    """Whoever has the answer to a statement can rely on it."""
    node = Node(MemoryTopic()).start()
    assert node.submit("a") == 0
    assert node.done == ["a"]
    assert node.runner.sequence == 0
    assert node.runner.statuses.all()["stream/a/create"] == CommandStatus("SUCCESS", "a")
    node.runner.close()


def test_racing_nodes_run_the_same_commands_in_the_same_order() -> None:
    """Whoever is overtaken reads to the end and checks again, so both catalogs are equal."""
    topic = MemoryTopic()
    nodes = [Node(topic).start() for _ in range(3)]

    def write(node: Node, name: str) -> None:
        for number in range(8):
            node.submit(f"{name}{number}")

    writers = [
        threading.Thread(target=write, args=(node, name))
        for node, name in zip(nodes, "abc", strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60.0)
    for node in nodes:
        node.runner.wait_for(topic.entries[-1].offset, 10.0)
        node.runner.close()
    assert sorted(nodes[0].done) == sorted(f"{name}{n}" for name in "abc" for n in range(8))
    assert nodes[0].done == nodes[1].done == nodes[2].done


def test_numbers_grow_and_are_never_used_twice() -> None:
    """Ids of queries end in them: a dropped query's state must not be found by another one."""
    topic = MemoryTopic()
    one, two = Node(topic).start(), Node(topic).start()
    for turn in range(3):
        one.submit(f"one{turn}")
        two.submit(f"two{turn}")
    numbers = [Command.of(entry.value).number or 0 for entry in topic.entries]
    assert numbers == sorted(set(numbers))
    one.runner.close()
    two.runner.close()


def test_write_in_doubt_is_not_done_twice() -> None:
    """A commit whose answer was lost may have happened: the topic says so."""
    node = Node(MemoryTopic()).start()
    node.log.doubtful_writes = 1
    assert node.submit("a") == 0
    assert node.done == ["a"]
    assert len(node.log.topic.entries) == 1
    node.runner.close()


def test_statement_that_needs_nothing_is_not_written() -> None:
    """IF NOT EXISTS of something that exists leaves no trace."""
    node = Node(MemoryTopic()).start()
    assert node.runner.submit(lambda number: None) is None
    assert node.log.topic.entries == []
    node.runner.close()


def test_bad_record_degrades_the_node() -> None:
    """What comes behind it may rely on it, so nothing more is run or written."""
    topic = MemoryTopic()
    node = Node(topic).start()
    node.submit("a")
    with topic.lock:
        topic.append(b"key", b"rubbish")
    with node.runner._changed:
        assert node.runner._changed.wait_for(
            lambda: node.runner.state is RunnerState.DEGRADED, 10.0
        )
    with pytest.raises(NotReadyError) as refused:
        node.submit("b")
    assert "restore-commands" in (refused.value.fix or "")
    assert refused.value.status == 503
    assert node.runner.problem is not None
    assert "offset 2" in (node.runner.problem.at or "")
    assert node.done == ["a"]
    node.runner.close()


def test_emptied_topic_degrades_the_node(tmp_path: Path) -> None:
    """The copy on disk shows that commands are missing."""
    file = tmp_path / "commands.jsonl"
    first = Node(MemoryTopic(), CommandBackup(file)).start()
    first.submit("a")
    first.runner.close()
    second = Node(MemoryTopic(), CommandBackup(file))
    second.runner.start()
    assert second.runner.wait_ready(10.0)
    assert second.runner.state is RunnerState.DEGRADED
    assert second.runner.problem is not None
    assert second.runner.problem.code == "commands-lost"
    second.runner.close()


def test_shortened_topic_degrades_the_node() -> None:
    """A topic that no longer begins at 0 has lost its first commands."""
    topic = MemoryTopic()
    topic.first = 4
    node = Node(topic)
    node.runner.start()
    assert node.runner.wait_ready(10.0)
    assert node.runner.state is RunnerState.DEGRADED
    node.runner.close()


def test_command_that_fails_does_not_stop_those_behind_it() -> None:
    """Its status is ERROR, and the next command is run."""
    node = Node(MemoryTopic())

    def fail_first(command: Command) -> CommandStatus:
        if command.statement == "bad":
            raise ValueError("a bug")
        node.done.append(command.statement)
        return CommandStatus("SUCCESS")

    node.runner._apply = fail_first
    node.start()
    node.submit("bad")
    node.submit("good")
    assert node.done == ["good"]
    assert node.runner.statuses.all()["stream/bad/create"].status == "ERROR"
    node.runner.close()


def test_waiting_for_a_command_has_a_limit() -> None:
    """A client that waits for a sequence number of the future is told so."""
    node = Node(MemoryTopic()).start()
    with pytest.raises(NotCaughtUpError) as refused:
        node.runner.wait_for(10, 0.01)
    assert refused.value.error_code == 50301
    node.runner.close()


def test_nobody_waits_for_a_command_behind_damage() -> None:
    """A bad record that comes just before a command keeps its writer waiting for nothing."""
    topic = MemoryTopic()
    node = Node(topic).start()
    node.submit("first")

    def prepare(number: int) -> Command:
        with topic.lock:
            topic.append(None, b"rubbish")
        return Command(id="stream/late/create", statement="late", number=number)

    began = time.monotonic()
    with pytest.raises(NotReadyError) as refused:
        node.runner.submit(prepare)
    assert refused.value.code == "degraded"
    assert time.monotonic() - began < 20
    node.runner.close()
