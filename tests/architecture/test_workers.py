"""The files of a run are shared out so that workers need the machine for different things."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.workers import FromBothEnds

SPARK = "tests/integration/spark/test_streams.py"
KAFKA = "tests/integration/kafka/test_admin.py"
CLUSTER = "tests/cluster/test_cluster.py"
LARGE, SMALL = "tests/unit/test_large.py", "tests/unit/test_small.py"
SIZES = {SMALL: 3, KAFKA: 3, LARGE: 9, SPARK: 3, CLUSTER: 3}
TESTS = [f"{file}::test_{number}" for file, size in SIZES.items() for number in range(size)]


class Worker:
    """Notes the tests that it is sent."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="gw")

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += [TESTS[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(test.partition("::")[0] for test in self.sent))


@pytest.fixture
def run() -> tuple[FromBothEnds, list[Worker]]:
    config: Any = SimpleNamespace(
        option=SimpleNamespace(loadscopereorder=True), getvalue=lambda name: ["popen", "popen"]
    )
    sharing, workers = FromBothEnds(config), [Worker(), Worker()]
    for worker in workers:
        sharing.add_node(worker)  # type: ignore[arg-type]
        sharing.add_node_collection(worker, TESTS)  # type: ignore[arg-type]
    sharing.schedule()
    return sharing, workers


def finish(sharing: FromBothEnds, worker: Any) -> None:
    """Have a worker complete all that it has been sent."""
    for test in list(worker.sent):
        sharing.mark_test_complete(worker, TESTS.index(test))


def test_one_worker_begins_with_java_and_the_other_with_the_most_tests(
    run: tuple[FromBothEnds, list[Worker]],
) -> None:
    """What waits and what computes run beside each other."""
    _, (first, second) = run
    assert first.files == [CLUSTER]
    assert second.files == [LARGE]


def test_who_is_done_helps_and_every_test_runs_once(
    run: tuple[FromBothEnds, list[Worker]],
) -> None:
    """Spark stays where it has been started, unless nothing else is left."""
    sharing, (first, second) = run
    finish(sharing, first)
    assert first.files == [CLUSTER, SPARK]
    for _ in range(4):
        finish(sharing, second)
    assert second.files == [LARGE, SMALL, KAFKA]
    finish(sharing, first)
    assert sorted(first.sent + second.sent) == sorted(TESTS)
    assert sharing.tests_finished


def test_files_of_a_worker_that_died_are_handed_out_again(
    run: tuple[FromBothEnds, list[Worker]],
) -> None:
    """Its first test counts as the one that killed it; the others still have to run."""
    sharing, (first, second) = run
    assert sharing.remove_node(first) == f"{CLUSTER}::test_0"  # type: ignore[arg-type]
    for _ in range(6):
        finish(sharing, second)
    assert set(second.files) == set(SIZES)
