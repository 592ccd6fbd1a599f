"""Sample records in a file beside a program, for its tests and for ``penstock run --demo``."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.errors import InvalidArgumentError
from penstock.runtime.local.outbox import InputRecord
from penstock.runtime.settings import task_settings
from penstock.testing.topic_serdes import TopicSerdes
from penstock.topology.graph import Graph
from penstock.topology.nodes import Source
from penstock.topology.topology import Topology

#: The names that a sample file may have, in the order in which they are looked for.
SAMPLE_FILES = ("data.jsonl", "data.txt")


def sample_file(program: Path) -> Path | None:
    """Return the sample file beside a program, or None if it has none."""
    files = (program.parent / name for name in SAMPLE_FILES)
    return next((file for file in files if file.is_file()), None)


def read_samples(file: Path, topology: Topology, *, now_ms: int | None = None) -> list[InputRecord]:
    """Read the records of a sample file, as the bytes that the topology's sources read.

    A ``.txt`` file has one value per line, for the only topic that the topology reads. A
    ``.jsonl`` file has one record per line: ``topic``, ``key``, ``value``, and ``time`` (ISO 8601),
    ``time_ms`` or ``ago`` (seconds before now). Text is written as it is, numbers with the serde of
    the source, and everything else as JSON. ``key_hex`` and ``value_hex`` are bytes that are not
    text, and ``partition`` is where a record that was captured comes from.

    Raises:
        InvalidArgumentError: ``bad-sample``, with the line of the file.
    """
    now = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    settings = task_settings(StreamsConfig({APPLICATION_ID.name: "samples"}), emit_interval_ms=0)
    serdes = TopicSerdes(topology.graph, settings)
    records = []
    for number, data in _lines(file, topology.graph):
        try:
            topic = data["topic"]
            key, value = serdes.of_input(topic, strict=False)
            records.append(
                InputRecord(
                    topic,
                    _part(key, topic, data, "key"),
                    _part(value, topic, data, "value"),
                    _time_ms(data, now),
                    partition=data.get("partition"),
                )
            )
        except (KeyError, TypeError, ValueError) as error:
            raise _bad_sample(file, number, f"{type(error).__name__}: {error}") from error
    return records


def _lines(file: Path, graph: Graph) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    topic = _only_topic(file, graph) if file.suffix == ".txt" else None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if topic is not None:
            yield number, {"topic": topic, "value": line, "ago": 0}
            continue
        try:
            yield number, json.loads(line)
        except json.JSONDecodeError as error:
            raise _bad_sample(file, number, str(error)) from None


def _only_topic(file: Path, graph: Graph) -> str:
    sources = (node for node in graph.nodes.values() if isinstance(node, Source))
    topics = {topic for node in sources for topic in node.topics} - set(graph.internal_topics)
    if len(topics) == 1:
        return topics.pop()
    raise InvalidArgumentError(
        "bad-sample",
        f"{str(file)!r} has values only, and the program reads {', '.join(sorted(topics))}",
        fix="write data.jsonl instead, with a topic in each record",
    )


def _part(serde: Any, topic: str, data: dict[str, Any], name: str) -> bytes | None:
    if f"{name}_hex" in data:
        return bytes.fromhex(data[f"{name}_hex"])
    return _bytes(serde, topic, data[name] if name == "value" else data.get(name))


def _bytes(serde: Any, topic: str, item: Any) -> bytes | None:
    if item is None or isinstance(item, str):
        return None if item is None else item.encode()
    if isinstance(item, int | float):
        number: bytes | None = serde.serialize(topic, item)
        return number
    return json.dumps(item, ensure_ascii=False).encode()


def _time_ms(data: dict[str, Any], now_ms: int) -> int:
    if "ago" in data:
        return now_ms - round(float(data["ago"]) * 1000)
    if "time_ms" in data:
        return int(data["time_ms"])
    return round(datetime.fromisoformat(data["time"]).timestamp() * 1000)


def _bad_sample(file: Path, number: int, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "bad-sample",
        f"line {number} of {str(file)!r} is not a sample record: {why}",
        fix='write {"topic": …, "key": …, "value": …, "time": "2026-03-02T10:00:00Z"}',
        at=f"{file.name}:{number}",
    )
