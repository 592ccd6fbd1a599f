"""A slot that may not process all of its input in one stage leaves the rest to later batches."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.spark.exchange.stage_request import Limits
from tests.runtime.slot_programs import Staged, counting, counts, send, words


@pytest.mark.parametrize("form", ["columns", "records"])
@pytest.mark.parametrize("limit", [1, 20, 60])
def test_a_batch_that_is_cut_by_its_size_gives_the_same_in_the_end(
    kafka: MemoryKafka, staged: Staged, limit: int, form: str
) -> None:
    """A slot commits what it could hold, and later batches take the rest."""
    lines = [f"w{n % 7} w{n % 3}" for n in range(40)]
    send(kafka, *lines)
    application = staged(
        words, slots=2, limits=Limits(limit, 1e9), **{"penstock.repartition.format": form}
    )
    batches = 0
    while application.has_waiting():
        application.run_batch(0)
        batches += 1
    assert batches > 1
    assert counts(application) == Counter(" ".join(lines).split())
    assert sum(record.topic == "out" for record in kafka.committed) >= 7


@pytest.mark.parametrize("form", ["columns", "records"])
def test_a_batch_that_is_cut_by_time_processes_the_rest_of_a_bundle_later(
    kafka: MemoryKafka, staged: Staged, form: str
) -> None:
    """Rows of a repartition topic come in bundles; a stage may end in the middle of one."""
    lines = [f"w{n % 7} w{n % 3}" for n in range(40)]
    send(kafka, *lines)
    application = staged(
        words, slots=2, limits=Limits(1_000_000, 0.0), **{"penstock.repartition.format": form}
    )
    reports = [report for _ in range(300) for report in application.run_batch(0)]
    assert not application.has_waiting()
    assert counts(application) == Counter(" ".join(lines).split())
    assert any(report.skips for report in reports) == (form == "columns")


def test_a_cut_batch_reports_where_it_really_ended(kafka: MemoryKafka, staged: Staged) -> None:
    """Offsets of what was not processed must not be committed."""
    application = staged(counting, limits=Limits(10, 1e9))
    for number in range(9):
        kafka.append("in", b"k", b"12345", number, partition=0)
    application.run_batch(0)
    assert kafka.group["in", 0] == 2
    assert application.position()["in", 0] == 2
    assert counts(application) == {"k": 2}
