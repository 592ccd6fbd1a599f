"""Whether a slot server that does not answer is paused, or inside a function that keeps Python."""

from __future__ import annotations

import time

from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes.host_registry import HostRegistry

#: How long one record may keep Python to itself, as Kafka's ``max.poll.interval.ms``.
LONGEST_S = 300.0


class Busy:
    """Tells whether to wait on for a server; asked after each silence.

    A function that holds Python's global lock, such as a slow regular expression, lets no other
    thread answer. If its process were ended, the record would come again, and end the next one.
    """

    def __init__(self, registry: HostRegistry, endpoint: Endpoint) -> None:
        self._registry = registry
        self._endpoint = endpoint
        self._until = time.monotonic() + LONGEST_S

    def __call__(self) -> bool:
        entry = self._registry.read()
        if entry is None or entry.endpoint != self._endpoint or time.monotonic() > self._until:
            return False
        return not entry.process.is_stopped
