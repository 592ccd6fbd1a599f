"""Splitting a stream: names of branches, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import java
from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.faces.kstream import KStream
from penstock.dsl.options.stream_options import Branched
from penstock.errors import InvalidStateError
from penstock.topology.nodes import Branch
from tests.unit.dsl.programs import always, graph_of


def test_branches_are_named_by_number_or_by_name() -> None:
    """The split's name comes first; the default branch has number 0."""
    split = StreamsBuilder().stream("in").split("by-")
    branches = split.branch(always).branch(always, "mine").branch(always).default_branch()
    assert list(branches) == ["by-1", "by-mine", "by-3", "by-0"]


def test_unnamed_split_takes_a_number_per_branch() -> None:
    """Branches carry the split's number with their own behind it."""
    builder = StreamsBuilder()
    branches = builder.stream("in").split().branch(always).no_default_branch()
    assert list(branches) == ["KSTREAM-BRANCH-00000000011"]
    assert builder.stream("x")._stream.name == "KSTREAM-SOURCE-0000000003"


def test_node_knows_its_children_and_its_default() -> None:
    """The first predicate that holds decides, then the default."""

    def program(builder: StreamsBuilder) -> None:
        builder.stream("in").split("s").branch(always, name="-a").default_branch(name="-b")

    node = graph_of(program).nodes["s"]
    assert isinstance(node, Branch)
    assert (node.predicates, node.children, node.default) == ((always,), ("s-a",), "s-b")


def test_function_replaces_the_branch_and_consumer_takes_it_out() -> None:
    """What a function gives is the result; what a consumer takes is not."""
    taken: list[KStream[Any, Any]] = []
    split = StreamsBuilder().stream("in").split("s")
    split.branch(always, Branched.with_function(lambda stream: stream.map_values(str), "-f"))
    split.branch(always, name="-none", fn=lambda stream: None)
    branches = split.default_branch(Branched.with_consumer(taken.append, "-c"))
    assert list(branches) == ["s-f"]
    assert branches["s-f"]._stream.name.startswith("KSTREAM-MAPVALUES-")
    assert [stream._stream.name for stream in taken] == ["s-c"]


def test_branch_after_the_default_is_refused() -> None:
    """Nothing would ever reach it."""
    split = StreamsBuilder().stream("in").split("s")
    split.default_branch()
    with pytest.raises(InvalidStateError):
        split.branch(always)


def test_older_branch_gives_a_list() -> None:
    """One stream per predicate, in order."""
    streams = java.branch(StreamsBuilder().stream("in"), always, always, name="s")
    assert [stream._stream.name for stream in streams] == ["s1", "s2"]


def test_branches_inherit_what_is_known_of_the_stream() -> None:
    """Serdes and the need for a repartition."""
    stream = StreamsBuilder().stream("in", key=str, value=str).map_values(str)
    (branch,) = java.branch(stream, always)
    assert branch._stream.key_serde is not None
    assert not branch._stream.key_changed
