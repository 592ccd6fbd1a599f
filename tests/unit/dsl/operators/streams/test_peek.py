"""Printing records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.options.stream_options import Printed
from penstock.errors import TopologyError
from penstock.topology.nodes import Peek
from tests.unit.dsl.programs import graph_of


def _printer(**options: Any) -> Peek:
    graph = graph_of(lambda b: b.stream("in", name="words").print(name="p", **options))
    node = graph.nodes["p"]
    assert isinstance(node, Peek)
    return node


def test_line_begins_with_the_streams_name(capsys: pytest.CaptureFixture[str]) -> None:
    """It tells which of several printed streams a line is from."""
    _printer().fn("k", 1)
    assert capsys.readouterr().out == "[words]: k, 1\n"


def test_label_and_mapper_make_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Both can be given as keywords or with Printed."""
    _printer(label="x", fn=lambda key, value: f"{key}={value}").fn("k", 1)
    _printer(printed="x").fn("k", 1)
    printed = Printed.to_sys_out().with_label("x").with_fn(lambda k, v: f"{k}={v}")
    _printer(printed=printed).fn("k", 1)
    assert capsys.readouterr().out == "[x]: k=1\n[x]: k, 1\n[x]: k=1\n"


def test_file_is_emptied_when_the_program_is_made(tmp_path: Path) -> None:
    """As in Kafka Streams; lines are then added."""
    file = tmp_path / "out.txt"
    file.write_text("old\n")
    printer = _printer(file=file)
    printer.fn("k", 1)
    printer.fn("k", 2)
    assert file.read_text() == "[words]: k, 1\n[words]: k, 2\n"


def test_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """Before any record comes."""
    with pytest.raises(TopologyError) as caught:
        StreamsBuilder().stream("in").print(file=tmp_path / "none" / "out.txt")
    assert caught.value.code == "bad-file"


def test_printing_ends_the_stream() -> None:
    """Nothing can come after it."""
    assert not _printer().forwards
