"""Streams and tables as entities: SHOW STREAMS, SHOW TABLES and DESCRIBE."""

from __future__ import annotations

from typing import Any

from penstock.server.entities.facts import Facts
from penstock.server.entities.queries import running_query
from penstock.server.entities.schemas import field_infos
from penstock.server.security.masking import masked
from penstock.sql.catalog.catalog import DataSource


def source_info(source: DataSource) -> dict[str, Any]:
    """Return one line of SHOW STREAMS or SHOW TABLES."""
    return {
        "type": source.kind,
        "name": source.name,
        "topic": source.topic,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "isWindowed": source.window is not None,
    }


def source_description(
    source: DataSource, facts: Facts, *, is_extended: bool = False
) -> dict[str, Any]:
    """Return what DESCRIBE tells of a stream or table."""
    catalog = facts.catalog
    readers = catalog.queries_reading(source.name)
    writers = catalog.queries_writing(source.name)
    described: dict[str, Any] = {
        "name": source.name,
        "windowType": None if source.window is None else source.window.kind,
        "readQueries": [running_query(query, facts) for query in readers],
        "writeQueries": [running_query(query, facts) for query in writers],
        "fields": field_infos((*source.schema.key, *source.schema.value, *source.schema.headers)),
        "type": source.kind,
        "timestamp": "" if source.timestamp is None else source.timestamp.name,
        "statistics": "",
        "errorStats": "",
        "extended": is_extended,
        "keyFormat": source.key_format.name,
        "valueFormat": source.value_format.name,
        "topic": source.topic,
        "partitions": 0,
        "replication": 0,
        "statement": masked(source.sql),
        "queryOffsetSummaries": [],
        "sourceConstraints": [],
        "clusterStatistics": [],
        "clusterErrorStats": [],
    }
    return described | _extension(source, facts) if is_extended else described


def _extension(source: DataSource, facts: Facts) -> dict[str, Any]:
    """Ask the cluster for what only it knows: the topic, and how far queries have read."""
    topic = facts.node.topics().get(source.topic)
    queries = facts.catalog.queries_writing(source.name)
    more: dict[str, Any] = {
        "queryOffsetSummaries": [
            {
                "groupId": facts.node.application_id(query.id),
                "topicSummaries": [
                    {
                        "kafkaTopic": name,
                        "offsets": [
                            {
                                "partition": each.partition,
                                "logStartOffset": each.start,
                                "logEndOffset": each.end,
                                "consumerOffset": each.committed,
                            }
                            for each in partitions
                        ],
                    }
                    for name, partitions in facts.node.offsets(query.id).items()
                ],
            }
            for query in queries
        ],
    }
    if topic is not None:
        more |= {"partitions": len(topic.partitions), "replication": topic.replication}
    failures = [f for query in queries for f in facts.node.failures(query.id)]
    if failures:
        more["errorStats"] = f"failures: {len(failures)}, last: {failures[-1].message}"
    return more
