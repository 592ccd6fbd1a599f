"""The subject of the schema registry that holds a schema: Confluent's naming strategies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import SerializationError
from penstock.registry.registry import subject_of
from penstock.settings.schema_registry import KEY_STRATEGY, VALUE_STRATEGY

#: From topic, whether it is for keys, and the record's name (None if it has none) to the subject.
Strategy = Callable[[str, bool, str | None], str]


def topic_name(topic: str, is_key: bool, record: str | None) -> str:
    """Return ``<topic>-key`` or ``<topic>-value``: one record type per topic."""
    return subject_of(topic, is_key=is_key)


def record_name(topic: str, is_key: bool, record: str | None) -> str:
    """Return the name of the record: one schema for all topics that hold such records."""
    return _required(record, topic, "RecordNameStrategy")


def topic_record_name(topic: str, is_key: bool, record: str | None) -> str:
    """Return ``<topic>-<record>``: several record types in one topic."""
    return f"{topic}-{_required(record, topic, 'TopicRecordNameStrategy')}"


_BY_NAME: dict[str, Strategy] = {
    "TopicNameStrategy": topic_name,
    "RecordNameStrategy": record_name,
    "TopicRecordNameStrategy": topic_record_name,
}


def strategy_in(configs: Mapping[str, Any], *, is_key: bool) -> Strategy:
    """Return the strategy that the settings name for keys or for values."""
    setting = KEY_STRATEGY if is_key else VALUE_STRATEGY
    chosen = setting.value_in(configs)
    found: Strategy = _BY_NAME[chosen] if isinstance(chosen, str) else chosen
    return found


def _required(record: str | None, topic: str, strategy: str) -> str:
    if record is None:
        raise SerializationError(
            "schema-without-name",
            f"the schema for topic {topic!r} has no name, and {strategy} needs one",
            fix="name the record (in JSON Schema by its title), or use TopicNameStrategy",
        )
    return record
