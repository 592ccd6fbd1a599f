"""Which worker runs which test file: one begins with those that start Spark and Kafka."""

from __future__ import annotations

from collections import Counter
from typing import Any

from xdist.scheduler import LoadFileScheduling

#: Files that start processes of Java and wait for them, the dearest first.
WITH_JAVA = (
    "tests/cluster/test_cluster.py",
    "tests/chaos/",
    "tests/integration/spark/",
    "tests/integration/interop/",
    "tests/integration/",
)


def place(file: str, tests: int) -> tuple[int, int]:
    """Sort files by who should take them first: those with Java in front, then small to large."""
    for number, start in enumerate(WITH_JAVA):
        if file.startswith(start):
            return number, -tests
    return len(WITH_JAVA), tests


class FromBothEnds(LoadFileScheduling):
    """Hands whole files out: to the first worker from the front, to all others from the back.

    So one worker waits for Spark while the others compute, and only one starts a broker and a
    session. When the two meet, they share what is left: files that do not take long.
    """

    def schedule(self) -> None:
        """Sort the files before the first of them is handed out."""
        if self.collection is None:
            tests = next(iter(self.registered_collections.values()))
            sizes = Counter(self._split_scope(test) for test in tests)
            self._waiting = sorted(sizes, key=lambda file: place(file, sizes[file]))
        super().schedule()

    def _reschedule(self, node: Any) -> None:
        # A worker needs to know of the next test to begin with one, but not of two: near the end
        # of a run, files that one worker has in store are files that the others wait for.
        if self.workqueue and self._pending_of(self.assigned_work[node]) > 1:
            return
        super()._reschedule(node)

    def _assign_work_unit(self, node: Any) -> None:
        # Also files of a worker that has died, which are in the queue once more.
        waiting = [file for file in self._waiting if file in self.workqueue]
        is_first = node is self.nodes[0]
        self.workqueue.move_to_end(waiting[0 if is_first else -1], last=False)
        super()._assign_work_unit(node)
