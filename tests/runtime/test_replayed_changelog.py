"""A batch that has committed and runs again finds its state as it was before, not after."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.runtime.spark.worker.output import BATCH_HEADER
from tests.runtime.memory_kafka import InjectedFaultError, MemoryKafka
from tests.runtime.staged import StagedApplication


def _counting(kafka: MemoryKafka) -> StagedApplication:
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="string").group_by_key().count("counts")
    return StagedApplication(builder.build().graph, {"application.id": "replayed"}, kafka)


def _send(kafka: MemoryKafka, keys: str) -> None:
    for at, key in enumerate(keys):
        kafka.append("in", key.encode(), b"", at)


@pytest.mark.parametrize("lose_state", [True, False], ids=["lost", "kept"])
def test_a_batch_that_runs_again_counts_its_records_once(*, lose_state: bool) -> None:
    """One record of a batch tells where its part of the changelog begins; all after it is its."""
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


def test_one_record_of_a_batch_carries_its_number() -> None:
    """A header on each of them would cost a fifth of what writing it does."""
    kafka = MemoryKafka()
    kafka.create("in")
    application = _counting(kafka)
    for keys in ("abc", "a", "bc"):
        _send(kafka, keys)
        application.run_batch(0)
    log = [each for each in kafka.logs["replayed-counts-changelog"][0] if each is not None]
    marked = [(each.key, int.from_bytes(dict(each.headers)[BATCH_HEADER] or b"", "big"))
              for each in log if each.headers]  # fmt: skip
    assert marked == [(b"a", 0), (b"a", 1), (b"b", 2)]
    application.close()
