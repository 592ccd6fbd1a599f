"""Listeners of an application that has not been started: neither Spark nor Kafka is there."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import InvalidStateError


class Follower:
    """Follows nothing, but has all that a standby listener needs."""

    def on_update_start(
        self, partition: tuple[str, int], store: str, starting_offset: int
    ) -> None: ...

    def on_batch_loaded(
        self,
        partition: tuple[str, int],
        store: str,
        task: ps.TaskId,
        batch_end_offset: int,
        batch_size: int,
        current_end_offset: int,
    ) -> None: ...

    def on_update_suspended(
        self,
        partition: tuple[str, int],
        store: str,
        store_offset: int,
        current_end_offset: int,
        reason: ps.SuspendReason,
    ) -> None: ...


def test_a_standby_listener_is_taken_before_the_start_only() -> None:
    """As in Kafka Streams."""
    builder = ps.StreamsBuilder()
    builder.stream("in").to("out")
    streams = ps.KafkaStreams(builder.build(), {"application.id": "listens"})
    streams.set_standby_update_listener(Follower())
    assert streams.close()
    with pytest.raises(InvalidStateError, match="before start"):
        streams.set_standby_update_listener(Follower())
