"""A batch that had committed when its process died is not counted again."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.runtime.local.memory_clients import InjectedFaultError
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication


def _counting(kafka: MemoryKafka) -> StagedApplication:
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="string").group_by_key().count("counts")
    return StagedApplication(builder.build().graph, {"application.id": "replayed"}, kafka)


def _send(kafka: MemoryKafka, keys: str) -> None:
    for at, key in enumerate(keys):
        kafka.append("in", key.encode(), b"", at)


@pytest.mark.parametrize("lose_state", [True, False], ids=["lost", "kept"])
def test_a_batch_that_runs_again_counts_its_records_once(*, lose_state: bool) -> None:
    """Its marker says that it is done; its changelog is part of the restored state."""
    kafka = MemoryKafka()
    kafka.create("in")
    application = _counting(kafka)
    _send(kafka, "abc")
    application.run_batch(0)
    _send(kafka, "abcd")
    kafka.fault = lambda number: "after"
    with pytest.raises(InjectedFaultError):
        application.run_batch(0)
    kafka.fault = lambda number: None
    application.crash(lose_state=lose_state)
    application.run_again()
    (counts,) = application.stores()["counts"]
    assert [counts.get(key).value for key in "abcd"] == [2, 2, 2, 1]
    application.close()
