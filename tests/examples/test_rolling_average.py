"""The rolling average of five minutes, a hopping window."""

import pytest

from examples.rolling_average.app import build
from tests.examples.play import played


def test_each_window_has_the_mean_of_five_minutes_once() -> None:
    """A window is sent when it has closed: 30 seconds after its end."""
    with played("rolling_average", build()) as driver:
        found = driver.read_key_values("rolling-averages")
    assert [key for key, _ in found] == [f"hall until 10:{minute:02}" for minute in range(1, 11)]
    means = {key[-5:]: value.celsius for key, value in found}
    assert means["10:01"] == 20.0
    assert means["10:02"] == means["10:04"] == 21.0
    assert means["10:05"] == pytest.approx(23.0)
    assert means["10:06"] == pytest.approx((22 + 27 + 21) / 3)
    assert means["10:10"] == 21.0
    assert sum(value.readings for _, value in found) == 20
