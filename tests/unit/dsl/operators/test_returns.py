"""Functions that forgot their ``return``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from penstock.dsl.faces.builder import StreamsBuilder
from penstock.dsl.operators.returns import check_function
from penstock.errors import InvalidArgumentError


def _appends(_: str, value: str, aggregate: list[str]) -> None:
    aggregate.append(value)


def _appends_or_leaves(_: str, value: str, aggregate: list[str]) -> None:
    if not value:
        return
    aggregate.append(value)


class _Appender:
    def __call__(self, _: str, value: str, aggregate: list[str]) -> None:
        aggregate.append(value)

    def append(self, _: str, value: str, aggregate: list[str]) -> None:
        aggregate.append(value)


@pytest.mark.parametrize(
    "fn",
    [_appends, _appends_or_leaves, _Appender(), _Appender().append, partial(_appends)],
)
def test_a_function_without_a_result_is_refused(fn: Callable[..., Any]) -> None:
    """It would delete the aggregate with every record, and say nothing."""
    with pytest.raises(InvalidArgumentError) as caught:
        check_function("aggregate", "aggregator", fn, "key", "value", "aggregate")
    assert caught.value.code == "no-return-value"


def _sometimes(_: str, value: str, aggregate: list[str]) -> list[str] | None:
    if value == "reset":
        return None
    return [*aggregate, value]


def _or_nothing(_: str, value: str, aggregate: list[str]) -> list[str] | None:
    return aggregate or None


def _one_of_two(_: str, value: str, aggregate: list[str]) -> list[str] | None:
    return aggregate if value else None


def _fails(_: str, value: str, aggregate: list[str]) -> list[str]:
    raise NotImplementedError


@pytest.mark.parametrize(
    "fn",
    [_sometimes, _or_nothing, _one_of_two, _fails, lambda k, v, a: None, max, partial(_sometimes)],
)
def test_a_function_that_may_return_something_is_taken(fn: Callable[..., Any]) -> None:
    """None is a result, too: it deletes. A lambda's result was written down."""
    check_function("aggregate", "aggregator", fn, "key", "value", "aggregate")


def _nothing(_: str, value: str) -> None:
    len(value)


def test_predicates_selectors_and_reducers_are_checked_where_they_are_given() -> None:
    """The error has the line of the call and the name of the function."""
    stream = StreamsBuilder().stream("in")
    calls: list[Callable[..., object]] = [
        stream.filter,
        stream.filter_not,
        stream.select_key,
        stream.group_by,
        stream.group_by_key().reduce,
        stream.to_table().filter,
        stream.split().branch,
    ]
    for call in calls:
        with pytest.raises(InvalidArgumentError, match=r"_nothing\(\) never returns") as caught:
            call(_nothing)
        assert str(caught.value.at).startswith("test_returns.py:")
