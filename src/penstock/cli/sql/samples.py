"""Sample rows for the streams of a script, made from the schemas in a file beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.cli.datagen.row_plan import RowPlan
from penstock.cli.datagen.schema_file import read_schemas
from penstock.cli.datagen.sender import paced
from penstock.cli.live.sample_feed import Sample
from penstock.cli.sql.files import read_text
from penstock.errors import InvalidArgumentError
from penstock.formats.rows import RowSerde
from penstock.sql import SqlEngine
from penstock.sql.starting import new_engine
from penstock.testing.sql.script import ScriptTopics

#: One Avro schema, or a list of them; the name of each record is a topic.
SAMPLES = "samples.avsc"


def script_samples(script: Path, engine: SqlEngine) -> Iterator[Sample]:
    """Return rows without end for the topics that have a schema; none without the file.

    The topics take turns. Keys, values and formats are those that the script declares.

    Raises:
        InvalidArgumentError: ``bad-schema-file``: the file cannot be read, or a column of a stream
            has no field.
        AnalysisError: ``unknown-topic``: no stream or table of the script has the topic.
    """
    file = script.with_name(SAMPLES)
    if not file.is_file():
        return iter(())
    topics = ScriptTopics(engine)
    topics.learn_sources()
    made = []
    for plan in read_schemas(file):
        key, value = topics.rows(plan.topic)
        _check_columns(file, plan, (key, value))
        made.append(_rows(plan, key, value))
    return _in_turn(made)


def prepared_samples(script: Path, settings: Mapping[str, Any]) -> Iterator[Sample]:
    """Make the topics of a script that are missing, and return the rows; no query is started."""
    engine = new_engine({})
    connection = engine.connect(settings, keeps_paused=False)
    try:
        engine.execute(read_text(script), answers=False)
        connection.make_topics()
    finally:
        connection.close()
    return script_samples(script, engine)


def _rows(plan: RowPlan, key: RowSerde, value: RowSerde) -> Iterator[Sample]:
    for _, row in plan.rows(None, paced(None, None)):
        keys, values = (
            tuple(row[column.name] for column in serde.row.columns) for serde in (key, value)
        )
        yield Sample(
            plan.topic,
            key.serialize(plan.topic, keys) if keys else None,
            value.serialize(plan.topic, values),
        )


def _check_columns(file: Path, plan: RowPlan, serdes: tuple[RowSerde, RowSerde]) -> None:
    known = {column.name for column in plan.columns}
    missing = [
        column.name for serde in serdes for column in serde.row.columns if column.name not in known
    ]
    if missing:
        raise InvalidArgumentError(
            "bad-schema-file",
            f"{str(file)!r} has no field {missing[0]!r} for topic {plan.topic!r}",
            fix=f"give the record {plan.topic!r} a field for each column of the stream",
        )


def _in_turn(feeds: list[Iterator[Sample]]) -> Iterator[Sample]:
    while feeds:
        for feed in feeds:
            yield next(feed)
