"""EX-04: heartbeat watchdog."""

from examples.heartbeat_watchdog.app import Alert, build
from penstock.testing import TopologyTestDriver


def test_silence_of_30_seconds_raises_one_alert_without_input() -> None:
    """Only the wall clock moves, and the alert comes."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("heartbeats", ("press-1", "ok", 0))
        driver.advance_wall_clock_time("30s")
        assert driver.read_key_values("alerts") == []
        driver.advance_wall_clock_time("5s")
        assert driver.read_key_values("alerts") == [("press-1", Alert("silent", since=0))]
        driver.advance_wall_clock_time("60s")
        assert driver.read_key_values("alerts") == []


def test_machine_that_is_back_is_watched_again() -> None:
    """The next silence is news again."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("heartbeats", ("press-1", "ok", 0))
        driver.advance_wall_clock_time("35s")
        driver.pipe("heartbeats", ("press-1", "ok", 36_000))
        driver.advance_wall_clock_time("40s")
        kinds = [alert.kind for alert in driver.read_values("alerts")]
    assert kinds == ["silent", "back", "silent"]


def test_machine_with_heartbeats_is_left_alone() -> None:
    """A heartbeat that overtook another one counts by its own time."""
    with TopologyTestDriver(build()) as driver:
        driver.pipe("heartbeats", ("oven-1", "ok", 20_000), ("oven-1", "ok", 10_000))
        driver.advance_wall_clock_time("45s")
        assert driver.read_key_values("alerts") == []
