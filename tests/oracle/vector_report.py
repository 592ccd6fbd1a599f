"""Which topologies run over columns, and what keeps the others from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from penstock.kernel.columns.planner import ColumnPlan
from penstock.model.task_id import TaskId
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from tests.oracle import options
from tests.oracle.build import build_topology
from tests.oracle.cases import Case
from tests.oracle.staged import case_topics
from tests.pure_functions import declare_pure


def vector_report(cases: Sequence[Case]) -> str:
    """Counts cases by how much of them runs over columns, and reasons by how often they occur.

    Their functions count as pure, as when the engine of columns runs them.
    """
    whole, islands, some, none, failed = [], [], [], [], 0
    reasons: Counter[str] = Counter()
    for case in cases:
        try:
            plans = list(_plans(case))
        except Exception:  # noqa: BLE001 - cases of topologies that cannot be built
            failed += 1
            continue
        are_vectorised = [plan.is_vectorised for plan in plans]
        if all(are_vectorised):
            chosen = islands if any(plan.islands for plan in plans) else whole
        else:
            chosen = some if any(are_vectorised) else none
        chosen.append(case.name)
        reasons.update({_general(why) for plan in plans for why in plan.why_not.values()})
    counts = (
        f"{len(whole)} wholly, {len(islands)} with functions record by record in between,"
        f" {len(some)} in part, {len(none)} not, {failed} not built"
    )
    lines = [f"over columns: {counts}, of {len(cases)} cases"]
    lines += [f"  wholly: {name}" for name in whole]
    lines += [f"  with islands: {name}" for name in islands]
    lines += [f"  in part: {name}" for name in some]
    lines += [f"  {count:5} cases: {reason}" for reason, count in reasons.most_common()]
    return "\n".join(lines)


def _plans(case: Case) -> Iterator[ColumnPlan]:
    """The plan of one task of each sub-topology."""
    kafka = MemoryKafka()
    for topic in case_topics(case.data):
        kafka.create(topic)
    config = options.configuration(case.data) | {"penstock.vectorize": "strict"}
    topology = build_topology(case.data, [])
    declare_pure(topology)
    application = StagedApplication(topology.graph, config, kafka)
    try:
        application.run_batch(0)
        for task, state in application.slot_of(0).tasks.items():
            assert isinstance(task, TaskId)
            assert state.kernel is not None
            assert state.kernel.columns is not None
            yield state.kernel.columns.plan
    finally:
        application.close()


def _general(reason: str) -> str:
    """A reason without the names of one topology."""
    words = ["…" if word.startswith("'") else word for word in reason.split(" ")]
    return " ".join(words)
