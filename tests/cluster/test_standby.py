"""A host is lost: its slot goes on where a standby is, and reads back next to nothing."""

from __future__ import annotations

import pytest

from tests.cluster.hosts import can_isolate
from tests.cluster.standby import lose_a_host, zones_of_slots


@pytest.mark.chaos
def test_a_standby_on_another_host_saves_the_restore() -> None:
    if not can_isolate():
        pytest.skip("hosts with folders of their own need Linux and root")
    keys = 50_000
    without, with_one = lose_a_host(keys, 0), lose_a_host(keys, 1)
    assert without.restored > keys // 4
    assert with_one.restored < keys // 50


@pytest.mark.chaos
def test_copies_are_in_another_zone_than_their_slot() -> None:
    """Two of three hosts share a zone; another host alone would not be enough."""
    if not can_isolate():
        pytest.skip("hosts with folders of their own need Linux and root")
    zones = zones_of_slots(["a", "a", "b"])
    assert len(zones) == 2
    for own, copies in zones.values():
        assert len(copies) == 1
        assert not own & copies
