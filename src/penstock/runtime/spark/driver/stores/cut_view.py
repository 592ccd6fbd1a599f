"""``streams.cut()``: all stores of an application at one moment, which do not change."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from penstock.errors import InvalidStateError
from penstock.query import Position
from penstock.runtime.spark.driver.stores.snapshot import snapshot
from penstock.runtime.spark.driver.stores.store_view import StoreView


class CutView:
    """The stores at a cut. Valid inside the ``with`` block that made it.

    All stores contain the same records of the source topics, up to ``position``. ``batch`` is the
    number of the cut; numbers grow, also over restarts.
    """

    def __init__(
        self, batch: int, position: Position, opened: Callable[[str], StoreView],
        spark: SparkSession | None,
    ) -> None:  # fmt: skip
        self.batch = batch
        self.position = position
        self._opened = opened
        self._spark = spark
        self._is_over = False

    def store(self, name: str) -> StoreView:
        """Return a store as of the cut."""
        self._check()
        return self._opened(name)

    def dataframe(self, name: str, spark: SparkSession | None = None) -> DataFrame:
        """Return a store as of the cut as a DataFrame, which stays valid after the block.

        Args:
            spark: the session of the DataFrame; by default, that of the application.
        """
        self._check()
        session = spark or self._spark
        assert session is not None
        return snapshot(session, self._opened(name))

    def end(self) -> None:
        self._is_over = True

    def _check(self) -> None:
        if self._is_over:
            raise InvalidStateError(
                "cut-is-over",
                "the application has gone on since this cut was taken",
                fix="read the stores inside the 'with streams.cut()' block",
            )


def wrong_batch(wanted: int, newest: int) -> InvalidStateError:
    """Return the error for a cut that is not the newest any more, or not there in time."""
    if newest > wanted:
        return InvalidStateError(
            "batch-gone",
            f"the stores are at cut {newest}: what they held at cut {wanted} is gone",
            fix="read the cut while it is the newest, or leave as_of_batch out",
        )
    return InvalidStateError(
        "batch-not-there",
        f"there was no cut {wanted} in time: the newest is cut {newest}",
        fix="wait for longer with timeout=…, or leave as_of_batch out; streams.waiting_for names a"
        " slot that does not come to the end of its batch",
    )
