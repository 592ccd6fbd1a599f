"""EX-22: a processor with a store of its own."""

from examples.running_sum.app import build, config
from tests.examples.play import played


def test_each_amount_is_answered_with_the_sum_so_far() -> None:
    """Keys do not mix, and the store has the last sum."""
    with played("running_sum", build(), config) as driver:
        assert driver.read_key_values("running-sums") == [
            ("ann", 5),
            ("bob", 100),
            ("ann", 12),
            ("ann", 10),
        ]
        assert dict(driver.get_key_value_store("my-state-store").all()) == {"ann": 10, "bob": 100}
        assert "running-sum-my-state-store-changelog" in driver.produced_topic_names()
