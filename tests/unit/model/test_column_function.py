"""A column function is called like the function in it, and keeps what was said of it."""

from __future__ import annotations

import cloudpickle

from penstock.model.column_function import ColumnAggregator, ColumnFunction


def test_function_is_called_like_the_one_in_it() -> None:
    """A record sees no difference."""
    assert ColumnFunction(lambda key, value: (value, key))("k", 1) == (1, "k")


def test_what_was_said_of_a_function_travels_with_it() -> None:
    """A worker gets its functions pickled."""
    function = ColumnFunction(lambda value: value + 1, over_columns=lambda values: values * 2)
    arrived = cloudpickle.loads(cloudpickle.dumps(function))
    assert isinstance(arrived, ColumnFunction)
    assert arrived(1) == 2
    assert arrived.over_columns is not None
    assert arrived.over_columns(4) == 8


def test_what_was_said_of_an_aggregator_travels_with_it() -> None:
    """The same for aggregators, whose order may not matter."""
    aggregator = ColumnAggregator(lambda key, value, state: state + value, is_order_free=True)
    arrived = cloudpickle.loads(cloudpickle.dumps(aggregator))
    assert isinstance(arrived, ColumnAggregator)
    assert (arrived("k", 1, 2), arrived.is_order_free, arrived.fields) == (3, True, ())
