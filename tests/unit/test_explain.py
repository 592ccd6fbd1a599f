"""``Topology.explain`` says how each part will run, and runs nothing to find out.

Exercises ``local.column_forms`` and ``topology.explanation``.
"""

from dataclasses import dataclass, replace
from typing import Any

import penstock as ps


@dataclass
class Payment:
    amount: float
    country: str


def spending() -> ps.StreamsBuilder:
    builder = ps.StreamsBuilder()
    (
        builder.stream("payments", value=Payment)
        .filter(ps.col("amount") > 50)
        .group_by(ps.col("country"))
        .windowed_by(ps.TimeWindows.of_size_and_grace("1m", "10s"))
        .aggregate(total=ps.sum_(ps.col("amount")), payments=ps.count())
        .to_stream()
        .to("spend-per-minute")
    )
    return builder


def test_expressions_run_over_columns() -> None:
    """On both sides of a repartition, with values of a declared type."""
    explained = spending().build().explain()
    assert explained.is_vectorised
    assert str(explained) == "sub-topology 0: over columns\nsub-topology 1: over columns"


def test_a_node_that_runs_record_by_record_is_named_with_the_reason() -> None:
    """A function with side effects is called once per record, between columns."""
    builder, seen = spending(), set[str]()
    stream = builder.stream("words", key="string", value="string")
    stream.filter(lambda _, word: not seen.add(word), name="not-empty").to("kept")
    explained = builder.build().explain()
    assert explained.is_vectorised
    part, node = str(explained).splitlines()[-2:]
    assert part == "sub-topology 2: over columns"
    assert node.startswith("    record by record filter 'not-empty' · test_explain.py:")
    assert "not seen.add(word): its predicate is a Python function" in node
    assert node.endswith("that uses 'add', which may do anything")


def test_global_tables_are_planned_empty() -> None:
    """They are full only in a running application."""
    builder = ps.StreamsBuilder()
    products = builder.global_table("products", key="string", value="json")
    orders = builder.stream("orders", key="string", value="json")
    joined = orders.join(
        products, ps.left.with_fields(name=ps.right["name"]), key=ps.col("product")
    )
    joined.to("named", key="string", value="json")
    assert str(builder.build().explain()) == "sub-topology 1: over columns"


def test_no_processor_is_made_to_find_out() -> None:
    """Whoever asks how a topology would run does not want it to run."""

    class Loud(ps.Processor[Any, Any, Any, Any]):
        def __init__(self) -> None:
            raise AssertionError("a processor was made")

        def process(self, record: ps.Record[Any, Any]) -> None: ...

    topology = ps.Topology()
    topology.add_source("in", "words").add_processor("loud", lambda: Loud(), "in")
    (line,) = str(topology.explain()).splitlines()[1:]
    assert line.startswith("    record by record process 'loud' · test_explain.py:")
    assert line.endswith(": a processor may do anything")


def test_a_generated_name_stands_behind_the_line_of_the_program() -> None:
    """Metrics have the name, so it is there; nobody has chosen it, so it is not all."""
    builder = ps.StreamsBuilder()
    builder.stream("words", value=str).process(lambda record: record)
    (line,) = str(builder.build().explain()).splitlines()[1:]
    assert line.startswith("    record by record process · test_explain.py:")
    assert "(KSTREAM-PROCESSOR-0000000001): " in line


def test_settings_may_name_what_the_topology_leaves_open() -> None:
    """A serde of the user's own has no column form, and only the settings know of it."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    assert builder.build().explain().is_vectorised
    settings = {"default.value.serde": "pickle"}
    assert not builder.build().explain(settings).is_vectorised


def test_faults_of_a_running_application_are_listed() -> None:
    """Below what was planned, with how often each has happened."""
    planned = spending().build().explain()
    told = str(replace(planned, column_errors={"IndexError at folds.py:7": 3}))
    assert told.splitlines()[2:] == [
        "record by record after a fault in the column path:",
        "    IndexError at folds.py:7: 3 runs of tasks",
    ]


def test_application_that_has_not_run_has_no_faults() -> None:
    """It can be asked before it starts."""
    streams = ps.KafkaStreams(spending().build(), {"application.id": "spending"})
    assert streams.explain() == spending().build().explain()
