"""A host is lost: its slot goes on where a standby is, and reads back next to nothing."""

from __future__ import annotations

import pytest

from tests.cluster.hosts import can_isolate
from tests.cluster.standby import lose_a_host


@pytest.mark.chaos
def test_a_standby_on_another_host_saves_the_restore() -> None:
    if not can_isolate():
        pytest.skip("hosts with folders of their own need Linux and root")
    keys = 50_000
    without, with_one = lose_a_host(keys, 0), lose_a_host(keys, 1)
    assert without.restored > keys // 4
    assert with_one.restored < keys // 50
