"""Which actions a day begins."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import cast

import pytest

from tests.ordinary import calendar as module
from tests.ordinary.actions import KINDS, excluded
from tests.ordinary.actions.day import Act, Day
from tests.ordinary.calendar import Calendar


class Clock:
    """A time that only the test moves."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.mark.parametrize("seed", range(20))
def test_every_kind_has_its_turn_although_others_keep_it_away(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five kinds exclude a rare one: drawn blindly it never came, and the day tested nothing."""
    clock, begun, under_way = Clock(), Counter[str](), set[str]()

    def begin(kind: str) -> Act:
        assert not under_way & excluded(kind)
        begun[kind] += 1
        under_way.add(kind)
        return Act(kind, lambda: "seen", 40.0, lambda: under_way.remove(kind))

    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(
        module, "ACTIONS", {kind: lambda _, kind=kind: begin(kind) for kind in KINDS}
    )
    day = cast("Day", SimpleNamespace(chance=random.Random(seed)))
    calendar = Calendar(day, KINDS, lambda text: None)
    while clock.now_s < 1800:
        calendar.run_due()
        clock.now_s += 0.5
    assert min(begun[kind] for kind in KINDS) >= 3
    assert begun.total() >= 100


def test_a_kind_that_cannot_act_now_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A topic has all the partitions that it may get, say."""
    clock, begun = Clock(), Counter[str]()

    def begin(kind: str) -> Act | None:
        begun[kind] += 1
        return None

    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(
        module, "ACTIONS", {kind: lambda _, kind=kind: begin(kind) for kind in KINDS}
    )
    day = cast("Day", SimpleNamespace(chance=random.Random(1)))
    calendar = Calendar(day, KINDS, lambda text: None)
    while clock.now_s < 600:
        calendar.run_due()
        clock.now_s += 0.5
    assert max(begun.values()) - min(begun[kind] for kind in KINDS) <= 1
