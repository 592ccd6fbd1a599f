"""What a graph refuses while nodes are added to it, and how the errors name the nodes."""

import re
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError, NullArgumentError, PenstockError, TopologyError
from penstock.topology.nodes import Node, Sink, Source
from penstock.topology.validate import (
    check_new_name,
    check_parents,
    check_pattern_is_free,
    check_topic_is_free,
    nearest,
)

SOURCE = Source(name="orders-source", topics=("orders",))
SINK = Sink(name="end", parents=("orders-source",), topic="out")
NODES: dict[str, Node] = {"orders-source": SOURCE, "end": SINK}


def code_of(error: pytest.ExceptionInfo[PenstockError]) -> str:
    return error.value.code


@pytest.mark.parametrize(
    ("name", "kind", "code"),
    [
        (None, NullArgumentError, "missing-name"),
        (7, InvalidArgumentError, "bad-name"),
        ("end", TopologyError, "duplicate-name"),
    ],
)
def test_a_node_needs_a_name_of_its_own(name: Any, kind: type[PenstockError], code: str) -> None:
    """A new name is fine."""
    check_new_name(Source(name="new", topics=("new",)), NODES)
    with pytest.raises(kind) as error:
        check_new_name(Source(name=name, topics=("new",)), NODES)
    assert code_of(error) == code


@pytest.mark.parametrize(
    ("parents", "code"),
    [
        ((), "no-parents"),
        (("me",), "cycle"),
        (("order-source",), "unknown-parent"),
        (("orders-source", "end"), "sink-as-parent"),
    ],
)
def test_parents_are_known_nodes_that_hand_records_on(parents: tuple[str, ...], code: str) -> None:
    """Every parent is checked, so that there is never a cycle."""
    check_parents(Sink(name="me", parents=("orders-source",), topic="out"), NODES)
    with pytest.raises(TopologyError) as error:
        check_parents(Sink(name="me", parents=parents, topic="out"), NODES)
    assert code_of(error) == code


def test_an_unknown_parent_comes_with_the_nearest_known_name() -> None:
    """A name that is near no other is not guessed at."""
    with pytest.raises(TopologyError, match="did you mean 'orders-source'"):
        check_parents(Sink(name="me", parents=("order-source",), topic="out"), NODES)
    assert nearest("xyz", NODES) == ""


def test_a_topic_is_read_by_one_source() -> None:
    """A source with a pattern reads the topics that match it as a whole."""
    other = Source(name="other", topics=("free",))
    matching = {"by-pattern": Source(name="by-pattern", pattern=re.compile("log-.*"))}
    check_topic_is_free("free", other, NODES)
    check_topic_is_free("my-log-1", other, matching)
    with pytest.raises(TopologyError, match="already been registered by source 'orders-source'"):
        check_topic_is_free("orders", other, NODES)
    with pytest.raises(TopologyError, match=r"matches the pattern 'log-[.][*]'"):
        check_topic_is_free("log-1", other, matching)


def test_a_topic_needs_a_name() -> None:
    """None is a mistake of the program, not a topic."""
    topic: Any = None
    with pytest.raises(NullArgumentError) as error:
        check_topic_is_free(topic, SOURCE, {})
    assert code_of(error) == "missing-topic"


def test_a_pattern_matches_no_topic_that_is_read_by_name() -> None:
    """Sinks write to topics, and may write to any."""
    check_pattern_is_free(Source(name="p", pattern=re.compile("out|order")), NODES)
    with pytest.raises(TopologyError, match="matches a topic already registered") as error:
        check_pattern_is_free(Source(name="p", pattern=re.compile("ord.*")), NODES)
    assert code_of(error) == "duplicate-topic"
