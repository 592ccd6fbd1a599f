"""The graph as JSON: what is told of nodes, stores and functions, and what is left out."""

import json
import re

import penstock as ps
from penstock.topology.json_form import node_to_dict, to_dict, to_json
from penstock.topology.nodes import Sink, Source


def is_long(key: str, value: str) -> bool:
    return len(value) > 3


def program() -> ps.Topology:
    builder = ps.StreamsBuilder()
    words = builder.stream("words", key=str, value=str).filter(is_long)
    words.group_by(lambda key, word: word).count("counts").to_stream().to("out")
    return builder.build()


def test_a_graph_is_cut_into_its_subtopologies() -> None:
    """The repartition topic is the border, and the store is told once for all of them."""
    told = to_dict(program().graph)
    assert (told["version"], [part["id"] for part in told["subtopologies"]]) == (1, [0, 1])
    assert list(told["stores"]) == ["counts"]
    assert list(told["internal_topics"]) == ["counts-repartition"]


def test_functions_are_told_by_name_and_line() -> None:
    """The line is the one at which the function begins."""
    nodes = to_dict(program().graph)["subtopologies"][0]["nodes"]
    told = next(node for node in nodes if node["kind"] == "filter/1")
    line = is_long.__code__.co_firstlineno
    assert told["predicate"] == {"function": "is_long", "at": f"test_json_form.py:{line}"}


def test_fields_with_their_default_are_left_out() -> None:
    """A field that is added later does not change the JSON of graphs that do not use it."""
    assert node_to_dict(Sink(name="end", parents=("start",), topic="out")) == {
        "kind": "sink/1",
        "name": "end",
        "parents": ["start"],
        "stores": [],
        "site": None,
        "topic": "out",
    }


def test_a_pattern_is_told_as_its_text() -> None:
    """So it is the same on every machine."""
    assert node_to_dict(Source(name="in", pattern=re.compile("log-.*")))["pattern"] == "log-.*"


def test_the_text_is_the_dict_as_json() -> None:
    """Building a program twice gives the same text."""
    text = to_json(program().graph)
    assert json.loads(text) == to_dict(program().graph)
    assert text == to_json(program().graph)
