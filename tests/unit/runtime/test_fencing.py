"""Transactions of earlier drivers are ended before a new one begins: ``fencing``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.runtime.spark.driver.instances import fencing as module
from penstock.runtime.spark.driver.instances.fencing import fence_slot, fence_slots
from penstock.runtime.spark.exchange.batch_log import LogState

SLOTS = ["app-slot-0", "app-slot-1"]


@pytest.mark.parametrize(
    ("exactly_once", "had_transactions", "ended"),
    [
        (True, True, SLOTS),
        (True, False, SLOTS),
        (False, False, []),
        # The instance that led before may only be paused.
        (False, True, ["app-batches-leader", *SLOTS]),
    ],
)
def test_who_comes_later_ends_what_is_open(
    monkeypatch: pytest.MonkeyPatch, exactly_once: bool, had_transactions: bool, ended: list[str]
) -> None:
    found: list[str] = []

    def new_producer(settings: dict[str, Any]) -> Any:
        assert settings["bootstrap.servers"] == "kafka:9092"
        name = settings["transactional.id"]
        return SimpleNamespace(init_transactions=lambda seconds: found.append(name))

    monkeypatch.setattr(module, "new_producer", new_producer)
    application = SimpleNamespace(
        id="app", exactly_once=exactly_once, producer={"bootstrap.servers": "kafka:9092"},
        batches_topic="app-batches",
    )  # fmt: skip
    fence_slots(cast(Any, application), LogState(slots=2, had_transactions=had_transactions))
    assert sorted(found) == ended


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_slot_whose_batch_has_failed_is_ended_alone(
    monkeypatch: pytest.MonkeyPatch, *, exactly_once: bool
) -> None:
    """The others are in the middle of batches of their own."""
    found: list[str] = []

    def new_producer(settings: dict[str, Any]) -> Any:
        name = settings["transactional.id"]
        return SimpleNamespace(init_transactions=lambda seconds: found.append(name))

    monkeypatch.setattr(module, "new_producer", new_producer)
    application = SimpleNamespace(id="app", exactly_once=exactly_once, producer={})
    fence_slot(cast(Any, application), 1)
    assert found == (["app-slot-1"] if exactly_once else [])
