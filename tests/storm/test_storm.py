"""A short storm; ``make storm`` has the whole one."""

import sys

import pytest

pytest.importorskip("granian", reason="needs penstock[server]")

from tests.storm.__main__ import main


def test_a_short_storm_is_weathered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines of continuous integration are busy, so this one allows more time than the whole."""
    wanted = ["--requests", "300", "--clients", "10", "--limit", "1000"]
    monkeypatch.setattr(sys, "argv", ["storm", *wanted])
    assert main() == 0


@pytest.mark.slow
def test_health_checks_are_in_time_while_a_storm_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 broken requests beside 50 clients."""
    monkeypatch.setattr(sys, "argv", ["storm"])
    assert main() == 0
