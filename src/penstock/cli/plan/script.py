"""A script's queries, and those that an earlier version of it has left in Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.cli.plan.stored import PlanReader
from penstock.cli.sql.files import read_text
from penstock.config import APPLICATION_ID, StreamsConfig
from penstock.runtime.settings import plan_fingerprint
from penstock.sql import SqlEngine
from penstock.sql.functions.extensions import load_extensions
from penstock.topology.upgrades.report import Entry, new_entry, orphan_entry


def script_entries(
    script: Path,
    reader: PlanReader,
    *,
    settings: Mapping[str, str],
    variables: Mapping[str, str],
    extensions: Path | None,
) -> list[Entry]:
    """Compare each query of a script with its state in Kafka.

    Raises:
        SqlError: a statement was refused.
    """
    engine = SqlEngine(settings)
    if extensions is not None:
        load_extensions(extensions, engine.functions)
    engine.catalog.variables.update({name.upper(): value for name, value in variables.items()})
    for name, topic in reader.topics.items():
        engine.catalog.topics[name] = len(topic.partitions)
    entries = []
    for query_id, topology in engine.planned(read_text(script)).items():
        application_id = engine.application_id(query_id)
        config = StreamsConfig({APPLICATION_ID.name: application_id})
        found = reader.read(application_id)
        entries.append(
            new_entry(
                query_id,
                application_id,
                plan_fingerprint(topology.graph, config),
                stored=found.fingerprint,
                has_run=found.has_run,
                kept=found.kept,
                is_running=found.is_running,
            )
        )
    return [*entries, *_orphans(engine, reader, {each.application_id for each in entries})]


def _orphans(engine: SqlEngine, reader: PlanReader, known: set[str]) -> list[Entry]:
    prefix = engine.application_id("")
    return [
        orphan_entry(each.removeprefix(prefix), each, is_running=reader.read(each).is_running)
        for each in reader.applications(prefix)
        if each not in known and not each.startswith(f"{prefix}transient_")
    ]
