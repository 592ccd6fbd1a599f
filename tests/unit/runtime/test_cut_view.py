"""All stores as of one batch: ``asking`` waits for the batch, ``cut_view`` is over after it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.errors import InvalidStateError
from penstock.query import Position
from penstock.runtime.spark.driver.stores.asking import Asking
from penstock.runtime.spark.driver.stores.cut_view import CutView, wrong_batch

POSITION = Position.from_next_offsets({("in", 0): 5})


class Held:
    """Stores that are at the given batches, one after the other; None is a batch under way."""

    def __init__(self, *batches: int | None) -> None:
        self._batches = list(batches)
        self.held = 0

    @contextlib.contextmanager
    def hold(self, timeout_s: float) -> Iterator[CutView | None]:
        batch = self._batches.pop(0) if len(self._batches) > 1 else self._batches[0]
        self.held += 1
        opened: Any = f"store of batch {batch}: {{}}".format
        yield None if batch is None else CutView(batch, POSITION, opened, None)
        self.held -= 1


class Application(Asking):
    def __init__(self, *batches: int | None) -> None:
        self.stores = Held(*batches)

    def _stores(self) -> Any:
        return self.stores


def test_the_newest_batch_is_read_while_it_is_held() -> None:
    """The next batch may begin after the block, and the cut cannot be read any more."""
    application = Application(None, 7)
    with application.cut() as cut:
        view: Any = cut.store("counts")
        assert (cut.batch, cut.position, view) == (7, POSITION, "store of batch 7: counts")
        assert application.stores.held == 1
    assert application.stores.held == 0
    for read in (cut.store, cut.dataframe):
        with pytest.raises(InvalidStateError) as error:
            read("counts")
        assert error.value.code == "cut-is-over"


def test_a_batch_that_is_not_there_yet_is_waited_for() -> None:
    """Earlier ones are let go."""
    with Application(5, None, 6, 7).cut(as_of_batch=7) as cut:
        assert cut.batch == 7


def test_a_batch_that_is_over_cannot_be_read() -> None:
    """The error says where the stores are, without waiting."""
    with pytest.raises(InvalidStateError, match="at cut 8") as error:  # noqa: SIM117
        with Application(8).cut(as_of_batch=7, timeout="1h"):
            pass
    assert error.value.code == "batch-gone"


@pytest.mark.parametrize("newest", [6, None])
def test_a_batch_that_does_not_come_in_time_is_given_up(newest: int | None) -> None:
    """Whether the stores stand still or are never complete."""
    with pytest.raises(InvalidStateError, match="no cut 7 in time") as error:  # noqa: SIM117
        with Application(newest).cut(as_of_batch=7, timeout="50ms"):
            pass
    assert error.value.code == "batch-not-there"


def test_the_error_tells_apart_what_is_gone_and_what_is_to_come() -> None:
    """The same batch cannot be wrong; a newer one is gone for good."""
    assert [wrong_batch(3, newest).code for newest in (2, 4)] == ["batch-not-there", "batch-gone"]
