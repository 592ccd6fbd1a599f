"""What a slot says of its nodes, over columns and record by record. Exercises ``node_meter``."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.worker.measures import slot_measures
from tests.runtime.slot_programs import Staged, send


def program(builder: ps.StreamsBuilder) -> None:
    """Two stages; half of the records pass the filter."""
    lines = builder.stream("in", key="string", value="string")
    kept = lines.filter(lambda key, value: int(key) % 2 == 0, name="even")
    kept.select_key(lambda key, value: value, name="rekey").group_by_key().count("counts")
    kept.to("out")


def records_by_node(application: StagedApplication) -> dict[str, int]:
    found: dict[str, int] = {}
    for number in range(2):
        for task in slot_measures(application.slot_of(number)):
            for name, (count, _) in task.nodes.items():
                found[name] = found.get(name, 0) + count
    return found


@pytest.mark.parametrize("form", ["columns", "records"])
def test_a_slot_counts_the_records_of_every_node(
    kafka: MemoryKafka, staged: Staged, form: str
) -> None:
    """Exactly over columns; record by record some chunks stand for the rest."""
    mode = "on" if form == "columns" else "off"
    application = staged(program, slots=2, **{"penstock.vectorize": mode})
    for _ in range(20):
        send(kafka, *(f"w{number % 5}" for number in range(200)))
        application.run_batch(0)
    while application.has_waiting():
        application.run_batch(0)
    found = records_by_node(application)
    assert (application.column_batches > 0) == (form == "columns")
    assert found["KSTREAM-SOURCE-0000000000"] == 4_000
    assert found["KSTREAM-SINK-0000000007"] == 2_000
    assert found["counts-repartition-source"] == 2_000
    # On a busy machine few chunks are measured, and stand for many others.
    about = 0 if form == "columns" else 0.75
    assert found["even"] == pytest.approx(4_000, rel=about)
    assert found["rekey"] == pytest.approx(2_000, rel=about)
