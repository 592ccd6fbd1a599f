"""A push query on a real cluster reads rows, and leaves no topic, group or folder behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import TopicSpec
from penstock.kafka.clients import new_consumer
from penstock.sql import SqlEngine
from penstock.sql.queries.spark_push import RunningPush

pytestmark = pytest.mark.kafka


class Ended:
    """Stands for an application whose batches are over: it has written all there is."""

    error = None

    def close(self) -> None:
        """Has nothing open."""


def test_closed_push_query_leaves_nothing_behind(
    kafka_broker: str, kafka_admin: Admin, tmp_path: Path
) -> None:
    """Its topic, the topics inside it, its groups and its folder go with it; others stay."""
    engine = SqlEngine({"ksql.service.id": "push_test_"})
    engine.execute(
        "CREATE STREAM s (id INT KEY, n INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');"
    )
    query = engine.query("SELECT n, COUNT(*) AS c FROM s GROUP BY n EMIT CHANGES LIMIT 1;")
    application = engine.application_id(query.id)
    inside = [f"{application}-Aggregate-GroupBy-repartition", f"{application}-penstock-batches"]
    before = {*kafka_admin.topics()}
    kafka_admin.create_topics([TopicSpec(name) for name in (query.id, *inside)])
    (tmp_path / application).mkdir()
    (tmp_path / "other").mkdir()
    with SqlEngine().local() as local:
        local.subscribe(query)
        local.pipe("s", bytes(4), b'{"N": 7}')
        (row,) = [record.value for record in local.produced]
    producer = Producer({"bootstrap.servers": kafka_broker})
    producer.produce(query.id, row)
    producer.flush()
    consumer = new_consumer(
        {"bootstrap.servers": kafka_broker, "group.id": query.id, "enable.auto.commit": False}
    )
    config = {"application.id": application, "state.dir": str(tmp_path)}
    ended = cast(Any, Ended())
    with RunningPush(query, ended, consumer, kafka_admin, StreamsConfig(config)) as running:
        assert list(running.rows(timeout_s=20.0)) == [{"N": 7, "C": 1}]
    assert {*kafka_admin.topics()} == before
    groups = [group.id for group in kafka_admin.groups()]
    assert not {query.id, application}.intersection(groups)
    assert [folder.name for folder in tmp_path.iterdir()] == ["other"]
