"""Runs one case through the public engine: statements, input, then output and catalog."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.registry.registry import MemoryRegistry
from penstock.sql import SqlEngine
from penstock.testing import BatchReport
from penstock.testing.sql.script import ScriptTopics
from tests.sqlcases.cases import Case
from tests.sqlcases.exceptions import ACCEPTED
from tests.sqlcases.functions import functions
from tests.sqlcases.post import post_differences
from tests.sqlcases.schemas import register_schemas
from tests.sqlcases.verdict import Verdict, guarded

SERVICE_ID = "some.ksql.service.id"
_PARTITIONS = 4


def check(case: Case) -> Verdict:
    """Runs a case in this process, record by record."""
    return guarded(case, lambda: CaseRun(case).problems())


def check_over_columns(case: Case) -> Verdict:
    """Runs a case in this process, each record as a batch over columns where it can."""
    run = CaseRun(case, over_columns=True)
    verdict = guarded(case, run.problems)
    verdict.ran_over_columns = any(batch.ran_over_columns for batch in run.batches)
    return verdict


#: By the name of an engine what runs a case with it.
ENGINES: dict[str, Callable[[Case], Verdict]] = {"columns": check_over_columns, "records": check}


class CaseRun:
    """One case on its engine."""

    def __init__(
        self,
        case: Case,
        topics: Callable[..., ScriptTopics] = ScriptTopics,
        *,
        over_columns: bool = False,
    ) -> None:
        self._case = case
        self._registry = MemoryRegistry()
        config = {"ksql.service.id": SERVICE_ID, **case.settings}
        self._engine = SqlEngine(config, functions=functions(), registry=self._registry)
        self._engine.catalog.default_partitions = _PARTITIONS
        self._script = topics(self._engine, over_columns=over_columns)

    @property
    def batches(self) -> list[BatchReport]:
        return self._script.batches

    def problems(self) -> list[str]:
        self._prepare_topics()
        if self._case.is_refused:
            return self._refusal()
        self._execute_and_feed()
        post = post_differences(self._case, self._engine)
        return [*self._script.differences(self._case.outputs), *post]

    def _refusal(self) -> list[str]:
        try:
            # Some are refused by what a record does, not by a statement.
            self._execute_and_feed()
        except PenstockError as error:
            return [] if error.message else ["refused without a message"]
        return [ACCEPTED]

    def _execute_and_feed(self) -> None:
        for statement in self._case.statements:
            self._script.execute(statement)
        self._script.feed(self._case.inputs)

    def _prepare_topics(self) -> None:
        for topic in self._case.topics:
            partitions = topic.get("partitions")
            if partitions is not None or "replicas" in topic:
                self._engine.catalog.topics[topic["name"]] = int(partitions or _PARTITIONS)
        register_schemas(self._case, self._registry)
