"""PT-11: the bound of a question, with answers that are behind at first."""

from types import SimpleNamespace

import pytest

from examples.read_your_writes.app import build, votes_after
from penstock.query import FailureReason, Position, QueryResult, StateQueryRequest
from tests.examples.play import played


class Behind:
    """Answers as an application does that needs three questions' time to get there."""

    def __init__(self) -> None:
        self.asked: list[StateQueryRequest] = []

    def query(self, request: StateQueryRequest) -> SimpleNamespace:
        self.asked.append(request)
        is_there = len(self.asked) >= 3
        result = (
            QueryResult(2, Position({"votes": {0: 7}}))
            if is_there
            else QueryResult(failure=FailureReason.NOT_UP_TO_BOUND)
        )
        return SimpleNamespace(only_partition_result=lambda: result)


def test_votes_are_counted() -> None:
    """What the store has in the end."""
    with played("read_your_writes", build()) as driver:
        store = driver.get_key_value_store("votes-per-candidate")
        assert dict(store.all()) == {"ann": 2, "bob": 1}


def test_answer_waits_for_the_offset() -> None:
    """An answer that does not contain the write is not taken."""
    streams = Behind()
    assert votes_after(streams, "ann", partition=0, offset=7) == 2
    assert len(streams.asked) == 3
    assert streams.asked[0].bound.position.offsets == {"votes": {0: 7}}


def test_answer_that_never_comes_is_an_error() -> None:
    """The caller is not left waiting."""
    with pytest.raises(TimeoutError, match="offset 7"):
        votes_after(Behind(), "ann", partition=0, offset=7, timeout_s=-1)
