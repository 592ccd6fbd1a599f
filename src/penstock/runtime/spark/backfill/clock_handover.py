"""Hands the clocks of tasks over to the application: when each of its windows closes, and the like.

Without them, live records that are late would open windows that history has closed. An application
reads the clocks of its tasks from markers in its batch log; this writes such markers, as of before
the first batch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.clients import new_producer
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.runtime.spark.exchange.batch_log import LOG_TIME_MS, Marker, marker_key
from penstock.topology.graph import Graph

_BEFORE_ALL = -1
_ANSWER_S = 30.0


def live_clocks(told: str, graph: Graph, application_id: str) -> Clocks:
    """Return the clocks of a task over history, as a task of the application knows them.

    Its queues have the names of topics in the graph. How many records came through a repartition
    topic starts anew.
    """
    clocks: Clocks = json.loads(told)
    prefix = f"{application_id}-"
    partitions = {}
    for name, time in clocks["partitions"].items():
        plain = name.removeprefix(prefix)
        partitions[plain if plain in graph.internal_topics else name] = time
    return {**clocks, "partitions": partitions, "received": {}}


def write_clocks(topic: str, clocks: Mapping[TaskId, Clocks], producer: Mapping[str, Any]) -> None:
    """Write the clocks of all tasks into the batch log."""
    writer = new_producer(producer)
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failures.append(error)

    for task, each in clocks.items():
        value = Marker(_BEFORE_ALL, each).to_json()
        writer.produce(topic, value, marker_key(task, 0), 0, delivered, timestamp=LOG_TIME_MS)
    if writer.flush(_ANSWER_S) or failures:
        raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))
