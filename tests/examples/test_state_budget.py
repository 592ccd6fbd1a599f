"""PT-12: state that is bounded, and the sum to do before."""

from examples.state_budget.app import Budget, budget, build
from tests.examples.play import played


def test_window_bounds_the_rows_and_a_count_for_ever_does_not() -> None:
    """Five days of tourists; the window store has forgotten all but the last hours."""
    # The record cache still has rows that have expired; the store itself has not.
    config = {"statestore.cache.max.bytes": 0}
    with played("state_budget", build(), config) as driver:
        assert len(list(driver.get_key_value_store("visits-ever").all())) == 6
        lately = [key.key for key, _ in driver.get_window_store("visits-per-hour").all()]
    assert lately == ["regular"]


def test_budget_is_rows_times_bytes_over_the_restore_rate() -> None:
    """A standby doubles the disk and takes the restore away."""
    size = {"rows": 1_000_000, "bytes_per_row": 100, "partitions": 4, "restore_bytes_per_s": 5e6}
    assert budget(**size) == Budget(1_000_000, 100_000_000, 25_000_000, 5.0)
    assert budget(**size, standbys=1) == Budget(1_000_000, 200_000_000, 25_000_000, 0.0)
