"""EX-24: a processor as a service runs it."""

from types import SimpleNamespace

import pytest

from examples.order_service.app import ProcessedOrder, build, config, health
from penstock import StreamsConfig
from penstock.runtime.states import State
from tests.examples.play import played


def test_orders_with_an_amount_are_priced_with_tax() -> None:
    """An order of nothing is left out."""
    with played("order_service", build()) as driver:
        assert driver.read_values("processed-orders") == [
            ProcessedOrder("o-1", 100.0, 119.0),
            ProcessedOrder("o-3", 19.9, 23.68),
        ]


def test_settings_are_those_of_a_service() -> None:
    """Exactly once, four threads, and 10 MB of cache; all of them are known settings."""
    checked = StreamsConfig(config)
    assert dict(checked)["processing.guarantee"] == "exactly_once_v2"
    assert (config["num.stream.threads"], config["statestore.cache.max.bytes"]) == (4, 10 << 20)


@pytest.mark.parametrize("state", State)
def test_only_a_running_processor_is_up(state: State) -> None:
    """The page says the state, too."""
    expected = "UP" if state is State.RUNNING else "DOWN"
    assert health(SimpleNamespace(state=state)) == {"status": expected, "state": state.value}
