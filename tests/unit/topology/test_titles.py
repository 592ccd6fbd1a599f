"""What nodes are called: operator, line and function first, Kafka's name behind."""

from typing import Any

import pytest

import penstock as ps
from penstock.topology.titles import code, label, operator, title
from penstock.topology.topology import Topology
from penstock.topology.tree import to_tree

MERGE = "KSTREAM-MERGE-0000000002"


def is_large(_key: Any, value: int) -> bool:
    return value > 1_000


class Watch(ps.Processor[Any, Any, Any, Any]):
    def process(self, record: ps.Record[Any, Any]) -> None:
        self.context.forward(record)


def built(make: Any) -> Topology:
    builder = ps.StreamsBuilder()
    make(builder)
    return builder.build()


@pytest.mark.parametrize(
    ("make", "labels"),
    [
        (lambda b: b.stream("n").filter(is_large), ["filter", "is_large"]),
        (lambda b: b.stream("n").filter_not(is_large), ["filter_not", "is_large"]),
        (lambda b: b.stream("n").map_values(str.upper), ["map_values", "str.upper"]),
        (lambda b: b.stream("n").map_values(lambda n: n * 2), ["map_values", "lambda n: n * 2"]),
        (lambda b: b.stream("n").filter(ps.col("a") > 3), ["filter", "(col('a') > 3)"]),
        (lambda b: b.stream("n").process(Watch), ["process", "Watch"]),
        (lambda b: b.stream("n").to("out"), ["write", "out"]),
        (lambda b: b.stream("n").group_by_key().count("c"), ["count", "c"]),
        (
            lambda b: b.stream("n").left_join(b.table("t"), lambda n, t: (n, t)),
            ["left_join", "lambda n, t: (n, t)"],
        ),
        (lambda b: b.table("t").filter(is_large), ["filter", "is_large"]),
    ],
)
def test_label_of_the_last_node_has_operator_line_and_subject(make: Any, labels: list[str]) -> None:
    """The subject is what the user has written: a function, an expression, a topic or a store."""
    node = list(built(make).graph.nodes.values())[-1]
    operator_, subject = labels
    assert node.site is not None
    assert label(node) == f"{operator_} · {node.site} · {subject}"


def test_lambdas_of_one_line_are_told_apart() -> None:
    """The instructions of a function know where in the line it stands."""
    nodes = built(lambda b: b.stream("n").map_values(lambda n: n + 1).map_values(lambda n: n - 1))
    assert [code(node) for node in nodes.graph.nodes.values()] == [
        None, "lambda n: n + 1", "lambda n: n - 1",
    ]  # fmt: skip


def test_function_whose_text_is_lost_is_left_out() -> None:
    """A function that a prompt has compiled has no file."""
    function = eval("lambda n: n + 1")  # noqa: S307 - as a prompt does
    node = list(built(lambda b: b.stream("n").map_values(function)).graph.nodes.values())[-1]
    assert code(node) is None
    assert label(node) == title(node)


def test_long_function_is_cut() -> None:
    """A picture has room for the beginning."""
    stream = lambda b: b.stream("n").map_values(  # noqa: E731
        lambda n: n + 1_000_000_000 + 2_000_000_000 + 3_000_000_000 + 4_000_000_000 + 5_000_000_000
    )
    text = code(list(built(stream).graph.nodes.values())[-1])
    assert text is not None
    assert len(text) == 60
    assert text.startswith("lambda n: n + 1_000_000_000 + ")
    assert text.endswith("…")


def test_name_that_the_user_gave_is_part_of_the_title() -> None:
    """It stands for what the step means; a generated name does not."""
    node = list(built(lambda b: b.stream("n").filter(is_large, "large")).graph.nodes.values())[-1]
    assert title(node) == f"filter 'large' · {node.site}"


def test_every_node_of_a_join_by_foreign_key_has_words() -> None:
    """No class name in CamelCase and no number is shown as an operator."""
    topology = built(
        lambda b: b.table("a").join(b.table("b"), lambda x, y: x, foreign_key=lambda v: v)
    )
    for node in topology.graph.nodes.values():
        assert operator(node) == operator(node).lower()
        assert not any(char.isdigit() for char in operator(node))


def test_tree_shows_every_node_once_and_where_topics_lead() -> None:
    """A node with two parents is drawn below the first; the second refers to it."""

    def make(builder: ps.StreamsBuilder) -> None:
        one, two = builder.stream("one"), builder.stream("two")
        merged = one.merge(two)
        merged.group_by(lambda _, word: word).count("words").to_stream().to("out")

    topology = built(make)
    lines = str(topology.describe("tree")).splitlines()
    for name in topology.graph.nodes:
        assert sum(line.endswith(f"[{name}]") for line in lines) == 1
    assert sum("words-repartition → sub-topology 1" in line for line in lines) == 1
    assert [line.strip() for line in lines if "drawn above" in line] == [
        f"└─ merge · {topology.graph.nodes[MERGE].site} (drawn above: {MERGE})"
    ]


def test_notes_stand_below_their_node() -> None:
    """A report of a test writes there what was dropped."""
    graph = built(lambda b: b.stream("n").filter(is_large).to("out")).graph
    text = to_tree(graph, {"KSTREAM-FILTER-0000000001": ["2 dropped: null key"]}, with_names=False)
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "sub-topology 0"
    assert lines[2].startswith("└─ filter · ")
    assert lines[3] == "│  2 dropped: null key"
    assert lines[4].endswith(" · out")
    assert "KSTREAM" not in text
