"""The function of a Spark task that starts a standby on the executor where it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.runtime.spark.exchange.channel import ask
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from penstock.runtime.spark.worker.processes.process_tree import find_executor
from penstock.runtime.spark.worker.processes.spawn import start_server


@dataclass(frozen=True, slots=True, kw_only=True)
class StandbyTask:
    """Start the server of a standby, unless Spark has chosen another executor than it should."""

    #: Spark's broadcast of the pickled application.
    broadcast: Any
    key: str
    application_id: str
    state_dir: str
    generation: int
    secret: bytes
    number: int
    slots: int
    #: The executor that the standby is for.
    executor: str

    def __call__(self, _: Iterable[int]) -> list[Endpoint]:
        if find_executor().name != self.executor:
            return []
        registry = HostRegistry(self.application_id, self.state_dir, f"standby-{self.number}")
        with registry.locked():
            entry = registry.read()
            if entry is not None:
                if entry.generation > self.generation:
                    return []
                entry.process.kill()
            process, endpoint = start_server(self.secret, self.number)
            registry.write(Entry(process, endpoint, self.generation))
        load: Callable[[], bytes] = lambda: self.broadcast.value  # noqa: E731
        ask(endpoint, self.secret, ("stand-by", self.key, self.number, self.slots), load)
        return [endpoint]
