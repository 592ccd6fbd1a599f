"""Moves slots to where there is less to do, and keeps copies of their stores on other executors."""

from __future__ import annotations

from penstock.config import (
    ACCEPTABLE_RECOVERY_LAG,
    MAX_WARMUP_REPLICAS,
    NUM_STANDBY_REPLICAS,
    RACK_AWARE_TAGS,
    SLOT_POOL,
    StreamsConfig,
)
from penstock.processor.listeners import StandbyUpdateListener
from penstock.runtime.spark.driver.executors.spark_executors import is_local
from penstock.runtime.spark.driver.standbys import Standbys
from penstock.runtime.spark.driver.threads.placement import Placement
from penstock.runtime.spark.exchange.stage_request import Application, Endpoint


class Movement:
    """Decides for one application when a slot moves, as Kafka Streams does: first the state.

    Args:
        pickled: the application as it is sent to threads.
    """

    def __init__(
        self,
        application: Application,
        pickled: bytes,
        placement: Placement,
        listener: StandbyUpdateListener | None = None,
    ) -> None:
        self._application = application
        self._pickled = pickled
        self._placement = placement
        self._listener = listener
        self._config = StreamsConfig(application.config)
        self._slots = 0
        self._standbys: Standbys | None = None
        self._has_state = any(store.logging for store in application.plan.graph.stores.values())
        master = placement.threads.context.getConf().get("spark.master")
        #: Whether there may be other executors to move to. Threads of a pool stay where they are.
        self._has_others = not is_local(master) and not self._config[SLOT_POOL]

    def keep_standbys(self, slots: int) -> None:
        """Start to keep copies of running slots on other executors, if the user wants them."""
        self._slots = slots
        wants_any = self._config[NUM_STANDBY_REPLICAS] > 0 and self._has_state
        if wants_any and self._has_others and self._standbys is None:
            self._standbys = self._new_standbys()

    def next_move(self, slots: int) -> tuple[int, Endpoint] | None:
        """Return a slot that should move now, and to which thread; None if all is well.

        A slot with state goes to another host only where a copy of its stores is warm.
        """
        found = self._placement.to_move(slots)
        if found is None:
            return None
        slot, target = found
        is_near = self._placement.endpoints[slot].host == target.host
        if is_near or not self._has_state or not self._has_others:
            return found
        standbys = self._standbys = self._standbys or self._new_standbys()
        if standbys.is_warm(slot, self._config[ACCEPTABLE_RECOVERY_LAG]):
            warm = self._placement.standbys.get(slot)
            return slot, warm or target
        standbys.warm_up(slot, self._config[MAX_WARMUP_REPLICAS])
        return None

    def standby_lags(self) -> dict[int, int | None]:
        """Return how far the copies of each slot on other executors are behind."""
        return {} if self._standbys is None else self._standbys.lags()

    def close(self) -> None:
        """End the copies."""
        if self._standbys is not None:
            self._standbys.close()

    def _new_standbys(self) -> Standbys:
        listed_tags = self._config[RACK_AWARE_TAGS]
        return Standbys(
            self._application, self._pickled, self._placement,
            self._config[NUM_STANDBY_REPLICAS], lambda: self._slots, listener=self._listener,
            listed_tags=listed_tags,
            most_extra=self._config[MAX_WARMUP_REPLICAS],
        )  # fmt: skip
