"""What a run of ``penstock run --reload`` writes differently from the run before it.

Two runs over the same input may write different numbers of updates, because a cache leaves out some
of them. So the last value of each key is compared, topic by topic.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from penstock.cli.output import err, print_note
from penstock.cli.program import LoadedProgram
from penstock.cli.snapshot import Snapshot
from penstock.cli.text_format import TextFormat, as_printable, as_text
from penstock.config import StreamsConfig
from penstock.errors import PenstockError
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import Partition
from penstock.kafka.client_config import admin_settings, restore_consumer_settings
from penstock.kafka.topic_reader import read_to_end
from penstock.runtime.settings import task_settings
from penstock.testing.topic_serdes import TopicSerdes
from penstock.topology.graph import Graph
from penstock.topology.nodes import Sink

#: How long a run must be idle. Its output may be input of another part of it.
_IDLE_S = 1.0
_MOST_KEYS = 50_000
_MOST_SHOWN = 20

#: The last value by topic and key, as text. Records without a key are told apart by their value.
Written = dict[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class Changed:
    """A key whose last value differs; None stands for a run that did not write the key."""

    topic: str
    key: str
    before: str | None
    after: str | None


@dataclass(slots=True)
class RunOutput:
    """What one run has written to the output topics of its program since it began."""

    program: LoadedProgram
    config: StreamsConfig
    written: Written = field(default_factory=dict)
    is_complete: bool = False
    _read_to: dict[Partition, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Note where the output topics end now."""
        self._read_to = self._ends()

    def read(self) -> None:
        """Read what the run has written since the last call."""
        ends = self._ends()
        spans = {place: (self._read_to.get(place, 0), end) for place, end in ends.items()}
        serdes = TopicSerdes(self.program.topology.graph, task_settings(self.config))
        for message in read_to_end(restore_consumer_settings(self.config), spans):
            topic = str(message.topic())
            key, value = serdes.of_output(topic, strict=False)
            text = _shown("value", value, topic, message.value())
            if message.key() is None:
                self.written[topic, f"null {text}"] = text
            else:
                self.written[topic, _shown("key", key, topic, message.key())] = text
        self._read_to = ends

    def _ends(self) -> dict[Partition, int]:
        admin = Admin(admin_settings(self.config))
        there = admin.topics()
        named = (name for name in output_topics(self.program.topology.graph) if name in there)
        return admin.end_offsets(
            (name, state.id) for name in named for state in there[name].partitions
        )


@dataclass(slots=True)
class Differences:
    """The output of each run, compared with that of the run before.

    Two runs are compared over the same input. So samples are written neither while a run still has
    to process the input of the run before, nor between a change and the end of a run.
    """

    _before: RunOutput | None = None
    _now: RunOutput | None = None
    _idle_since: float | None = None

    def begin(self, program: LoadedProgram, settings: Mapping[str, Any]) -> None:
        """Begin a run; the former one is what it is compared with, if it had read all its input."""
        if self._now is not None and self._now.is_complete:
            self._before = self._now
        self._idle_since = None
        self._now = RunOutput(program, StreamsConfig(settings))
        self._now.begin()

    def look(self, snapshot: Snapshot) -> bool:
        """Print the difference once, as soon as the run has processed all its input.

        Return whether that has happened.
        """
        now = self._now
        if now is None or now.is_complete or not self.has_settled(snapshot):
            return now is not None and now.is_complete
        now.is_complete = True
        now.read()
        if self._before is not None:
            print_changes(self._before.written, now.written)
        return True

    def end(self, *, has_settled: bool = False) -> None:
        """Read what a run has written after the comparison, for the comparison with the next.

        With ``has_settled`` the run has processed all its input by now, if not before.
        """
        if self._now is not None and (self._now.is_complete or has_settled):
            self._now.is_complete = True
            self._now.read()

    def wait_anew(self) -> None:
        """Forget how long the run has been idle."""
        self._idle_since = None

    def has_settled(self, snapshot: Snapshot) -> bool:
        """Return whether the run has been idle for a while."""
        if not snapshot.is_idle:
            self._idle_since = None
            return False
        now = time.monotonic()
        self._idle_since = self._idle_since or now
        return now - self._idle_since >= _IDLE_S


def output_topics(graph: Graph) -> list[str]:
    """Return the topics that a program names for its output."""
    sinks = (node for node in graph.nodes.values() if isinstance(node, Sink))
    names = (sink.topic for sink in sinks if sink.topic is not None)
    return [name for name in dict.fromkeys(names) if name not in graph.internal_topics]


def changes(before: Written, after: Written) -> Iterator[Changed]:
    """Yield the keys whose last values differ, by topic."""
    for place in sorted(before.keys() | after.keys()):
        old, new = before.get(place), after.get(place)
        if old != new:
            yield Changed(*place, old, new)


def print_changes(before: Written, after: Written) -> None:
    """Print what is gone with a minus and what is new with a plus, topic by topic."""
    if max(len(before), len(after)) > _MOST_KEYS:
        print_note(f"more than {_MOST_KEYS:,} keys were written: the runs are not compared")
        return
    found = list(changes(before, after))
    if not found:
        print_note(f"the last run wrote the same: {len(after):,} keys")
        return
    text = Text("difference to the last run:", style="bold")
    topic = None
    for each in found[:_MOST_SHOWN]:
        if each.topic != topic:
            topic = each.topic
            text.append(f"\n  {topic}", style="bold")
        for sign, value, style in (("-", each.before, "red"), ("+", each.after, "green")):
            if value is not None:
                text.append(f"\n    {sign} {each.key}  {value}", style=f"not bold {style}")
    same = len(before.keys() | after.keys()) - len(found)
    rest = len(found) - _MOST_SHOWN
    more = f"{rest:,} more keys differ, " if rest > 0 else ""
    text.append(f"\n  {more}{same:,} keys are the same", style="not bold dim")
    err().print(text, soft_wrap=True)


def _shown(part: str, serde: Any, topic: str, data: Any) -> str:
    try:
        return as_text(TextFormat(part, serde).to_plain(topic, data))
    except (PenstockError, TypeError, ValueError):
        return as_printable(data)
