"""Runs a case as history: each query takes all of its records at once, in order of arrival."""

from __future__ import annotations

from collections.abc import Callable

from penstock.runtime.history.rows import headers_of
from penstock.runtime.local.history import HistoryRecord, run_history
from penstock.runtime.local.outbox import ProducedRecord
from penstock.sql.queries.local import QUERY_CONFIG, LocalQuery
from penstock.testing.sql.script import ScriptTopics
from tests.sqlcases.cases import Case
from tests.sqlcases.run import CaseRun
from tests.sqlcases.verdict import Verdict, guarded


def check_history(case: Case) -> Verdict:
    """Runs a case in this process, each query over all of its records at once."""
    return guarded(case, CaseRun(case, HistoryTopics).problems)


class HistoryTopics(ScriptTopics):
    """Runs each query over bounded records instead of feeding it one after the other."""

    def run_query(self, query: LocalQuery, records: list[ProducedRecord]) -> None:
        """Runs a query over its topics. Later queries can read its output."""
        topology = self.engine.topologies()[query.id]
        given = [
            HistoryRecord(r.topic, r.key, r.value, r.timestamp, r.headers, arrival=number)
            for number, r in enumerate(records)
            if r.topic in query.topics
        ]
        config = {**QUERY_CONFIG, "application.id": self.engine.application_id(query.id)}
        found = run_history(topology.graph, config, given)
        internal = topology.graph.internal_topics
        for topic in found.topics():
            for row in () if topic in internal else found.rows(topic):
                headers = headers_of(row["headers"])
                self.records[topic].append(
                    ProducedRecord(topic, row["key"], row["value"], row["timestamp"], headers, 0)
                )


#: By the name of an engine what runs a case with it.
HISTORY: dict[str, Callable[[Case], Verdict]] = {"batch": check_history}
