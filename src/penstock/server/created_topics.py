"""Topics that CREATE STREAM and CREATE TABLE may create: those whose PARTITIONS are given."""

from __future__ import annotations

from penstock.model.sql.errors import AnalysisError
from penstock.sql.ast.node import Node
from penstock.sql.ast.statements import CreateSource
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.trial import Trial


def refuse_missing_topic(statement: Node, before: Catalog, trial: Trial) -> None:
    """Refuse a stream or table over a topic that is not there and that nobody asked to create.

    A misspelt name would make an empty topic. ksqlDB refuses it, too. Commands that are in the
    command topic already are not asked again.

    Args:
        statement: The statement.
        before: The catalog before it, with the topics of the cluster.
        trial: Its trial.

    Raises:
        AnalysisError: ``missing-topic``.
    """
    if not isinstance(statement, CreateSource) or trial.results[0].kind == "exists":
        return
    source = trial.catalog.sources[statement.name]
    if source.topic_settings.partitions is not None or source.topic in before.topics:
        return
    raise AnalysisError(
        "missing-topic",
        f"topic {source.topic!r} does not exist",
        fix="correct KAFKA_TOPIC, or add PARTITIONS=1 or more to WITH (...): then it is created",
        span=statement.span,
    )
