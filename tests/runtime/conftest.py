"""Fixtures of the tests of slots in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import penstock as ps
from penstock.runtime.local.memory_kafka import MemoryKafka
from penstock.runtime.local.staged import StagedApplication
from penstock.runtime.spark.exchange.stage_request import NO_LIMITS, Limits
from tests.runtime.slot_programs import Program, Staged, new_kafka


@pytest.fixture
def kafka() -> MemoryKafka:
    return new_kafka(2)


@pytest.fixture
def staged(kafka: MemoryKafka) -> Iterator[Staged]:
    made: list[StagedApplication] = []

    def make(
        program: Program,
        *,
        partitions: int = 2,
        slots: int = 1,
        limits: Limits = NO_LIMITS,
        **config: Any,
    ) -> StagedApplication:
        builder = ps.StreamsBuilder()
        program(builder)
        settings = {"application.id": "app", **config}
        topics = kafka if partitions == 2 else new_kafka(partitions)
        made.append(
            StagedApplication(builder.build().graph, settings, topics, slots=slots, limits=limits)
        )
        return made[-1]

    yield make
    for application in made:
        application.close()
