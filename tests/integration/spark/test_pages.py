"""Blocks of pages that need Spark run there, as they stand on the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from tests.docs.pages import Block, blocks
from tests.docs.test_python_blocks import missing, promised

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

BLOCKS = [
    block
    for each in blocks("python").values()
    for block in each
    if block.marker.startswith("needs Spark")
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.place)
def test_program_of_a_page_runs_on_spark(
    block: Block,
    streams_of: Callable[..., ps.KafkaStreams],
    new_topic: Callable[..., str],
    produce: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Only the broker, the names of topics and the folder of the state are those of the test."""
    lines = new_topic("lines")
    produce(lines, (None, b"hello kafka"), (None, b"hello spark"))

    def application(topology: ps.Topology, config: dict[str, Any]) -> ps.KafkaStreams:
        return streams_of(topology, **{"processing.guarantee": config["processing.guarantee"]})

    monkeypatch.setattr(ps, "KafkaStreams", application)
    program = block.text.replace('"lines"', repr(lines))
    exec(compile(program, block.place, "exec"), {"__name__": __name__})
    assert missing(promised(block), capsys.readouterr().out.splitlines()) == []


def test_pages_have_such_blocks() -> None:
    """A broken search would run nothing."""
    assert BLOCKS
