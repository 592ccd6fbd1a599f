"""Everything that takes rows after a cut: functions of ``to_spark``, and tables of ``to_lake``."""

from __future__ import annotations

import time
from collections.abc import Callable

from penstock.config import LAKE_COMMIT_INTERVAL_MS, StreamsConfig
from penstock.errors import PenstockError
from penstock.runtime.spark.driver.lanes.accounts import Accounts
from penstock.runtime.spark.driver.lanes.sink_calls import SinkCalls, Sinks
from penstock.runtime.spark.exchange.batch_log import Cut


class RowCalls:
    """Calls functions and tables, each kind in a thread of its own."""

    def __init__(
        self,
        functions: Sinks,
        tables: Sinks,
        accounts: Accounts,
        report: Callable[[PenstockError], None],
        config: StreamsConfig,
    ) -> None:
        interval_s = config[LAKE_COMMIT_INTERVAL_MS] / 1000
        self._calls = (
            SinkCalls(functions, accounts, report),
            SinkCalls(tables, accounts, report, interval_s=interval_s),
        )

    def taken(self, cut: Cut) -> None:
        """Hand on the rows up to a cut; the caller has the lock of the lanes."""
        for each in self._calls:
            each.taken(cut)

    def are_handed_on(self) -> bool:
        """Tell whether all rows up to the newest cut are where they go, and let none wait."""
        for each in self._calls:
            each.hurry()
        return all(each.is_idle for each in self._calls)

    def close(self, deadline: float) -> bool:
        """Begin no other call; return whether those under way have ended in time."""
        for each in self._calls:
            each.hurry()
        left = [not each.close(max(deadline - time.monotonic(), 0.0)) for each in self._calls]
        return not any(left)
