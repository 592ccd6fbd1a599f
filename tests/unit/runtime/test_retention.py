"""Changelogs of windows outlive their windows, however old the events are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

import penstock as ps
from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.admin_answers import ConfigValue
from penstock.kafka.errors import KafkaRequestError
from penstock.kernel.clocks import Clocks
from penstock.model.task_id import TaskId
from penstock.model.time.duration import MAX_LONG
from penstock.runtime.spark.driver.retention import ChangelogRetention
from penstock.runtime.spark.driver.topics import changelog_config
from penstock.runtime.spark.exchange.plan import make_plan

DAY_MS = 86_400_000
NOW_MS = 20_000 * DAY_MS
#: A window of an hour with as much grace, and Kafka's extra day.
USUAL_MS = 2 * 3_600_000 + DAY_MS


class TopicConfigs:
    """The part of the admin client that is needed here."""

    def __init__(self, retention_ms: int) -> None:
        self.retention_ms = retention_ms
        self.changes: list[int] = []

    def topic_config(self, name: str) -> dict[str, ConfigValue]:
        return {"retention.ms": ConfigValue(str(self.retention_ms), True)}

    def alter_topic_config(self, name: str, changes: Mapping[str, str | None]) -> None:
        assert name == "shop-hourly-changelog"
        self.retention_ms = int(changes["retention.ms"] or 0)
        self.changes.append(self.retention_ms)


HOURLY = ps.TimeWindows.of_size_and_grace("1h", "1h")


def retention(
    broker: TopicConfigs,
    windows: ps.TimeWindows | ps.UnlimitedWindows = HOURLY,
    **store_config: str,
) -> ChangelogRetention:
    builder = ps.StreamsBuilder()
    materialized = ps.Materialized(name="hourly").with_logging_enabled(
        {name.replace("_", "."): value for name, value in store_config.items()}
    )
    builder.stream("orders").group_by_key().windowed_by(windows).count(materialized)
    plan = make_plan(builder.build().graph, {"orders": 2})
    config = StreamsConfig({"application.id": "shop"})
    return ChangelogRetention(plan, config, cast("Admin", broker))


def clocks(*stream_times: int) -> dict[TaskId, Clocks]:
    noted = [cast("Clocks", cast("Any", {"stream_time": at})) for at in stream_times]
    return {TaskId(0, number): each for number, each in enumerate(noted)}


def test_new_events_leave_the_usual_time() -> None:
    broker = TopicConfigs(USUAL_MS)
    watched = retention(broker)
    watched.keep_up(clocks(NOW_MS - 60_000, -1), NOW_MS)
    watched.keep_up({}, NOW_MS)
    assert broker.changes == []


def test_old_events_make_the_broker_wait_for_the_slowest_task() -> None:
    broker = TopicConfigs(USUAL_MS)
    watched = retention(broker)
    watched.keep_up(clocks(NOW_MS - DAY_MS, NOW_MS - 400 * DAY_MS), NOW_MS)
    assert len(broker.changes) == 1
    assert broker.changes[0] > USUAL_MS + 400 * DAY_MS
    # There is room until the distance has grown by a quarter.
    watched.keep_up(clocks(NOW_MS - 410 * DAY_MS), NOW_MS)
    assert len(broker.changes) == 1
    watched.keep_up(clocks(NOW_MS - 600 * DAY_MS), NOW_MS)
    assert broker.changes[1] > USUAL_MS + 600 * DAY_MS


def test_what_an_earlier_life_has_raised_is_enough() -> None:
    broker = TopicConfigs(USUAL_MS + 1_000 * DAY_MS)
    retention(broker).keep_up(clocks(NOW_MS - 400 * DAY_MS), NOW_MS)
    assert broker.changes == []


def test_for_ever_is_left_alone() -> None:
    broker = TopicConfigs(-1)
    retention(broker).keep_up(clocks(1), NOW_MS)
    assert broker.changes == []


def test_what_the_user_has_set_is_left_alone() -> None:
    broker = TopicConfigs(DAY_MS)
    retention(broker, retention_ms=str(DAY_MS)).keep_up(clocks(1), NOW_MS)
    assert broker.changes == []


def test_windows_without_an_end_are_kept_as_long_as_kafka_can_count() -> None:
    """A longer time would be no number of Kafka's, and no topic could be made with it."""
    broker = TopicConfigs(MAX_LONG)
    watched = retention(broker, ps.UnlimitedWindows.of())
    watched.keep_up(clocks(1), NOW_MS)
    assert broker.changes == []
    builder = ps.StreamsBuilder()
    grouped = builder.stream("orders").group_by_key()
    grouped.windowed_by(ps.UnlimitedWindows.of()).count("all")
    graph = builder.build().graph
    config = changelog_config(graph.stores["all"], StreamsConfig({"application.id": "shop"}))
    assert config["retention.ms"] == str(MAX_LONG)


def test_nothing_is_deleted_before_the_first_batch_has_told_its_time() -> None:
    """A broker that looks right after the first commit would find all of it too old."""
    broker = TopicConfigs(USUAL_MS)
    watched = retention(broker)
    watched.hold()
    assert broker.retention_ms > 1_000_000 * DAY_MS
    watched.keep_up(clocks(-1), NOW_MS)
    assert broker.retention_ms > 1_000_000 * DAY_MS
    watched.keep_up(clocks(NOW_MS - 400 * DAY_MS), NOW_MS)
    assert USUAL_MS + 400 * DAY_MS < broker.retention_ms < 1_000 * DAY_MS


def test_new_events_bring_the_usual_time_back() -> None:
    """Also in a later life: the first one may have died before it could do so."""
    broker = TopicConfigs(USUAL_MS)
    retention(broker).hold()
    retention(broker).keep_up(clocks(NOW_MS - 60_000), NOW_MS)
    assert broker.retention_ms == USUAL_MS


class ForbiddenConfigs(TopicConfigs):
    """A broker that lets this user see settings but not change them."""

    def alter_topic_config(self, name: str, changes: Mapping[str, str | None]) -> None:
        self.changes.append(int(changes["retention.ms"] or 0))
        raise KafkaRequestError("not-allowed", f"cannot change the settings of topic {name!r}")


def test_application_goes_on_without_the_right_to_alter_configs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One warning says what could not be set; the topic keeps what it was created with."""
    broker = ForbiddenConfigs(USUAL_MS)
    kept = retention(broker)
    kept.hold()
    kept.keep_up(clocks(NOW_MS - 90 * DAY_MS), NOW_MS)
    assert len(broker.changes) == 1
    (line,) = caplog.messages
    assert "retention.ms of shop-hourly-changelog" in line
    assert "AlterConfigs" in line


def test_other_failures_of_the_broker_are_raised() -> None:
    """Only a missing right is a reason to go on without."""

    class Away(TopicConfigs):
        def alter_topic_config(self, name: str, changes: Mapping[str, str | None]) -> None:
            raise KafkaRequestError("broker-unreachable", "no answer")

    with pytest.raises(KafkaRequestError):
        retention(Away(USUAL_MS)).hold()
