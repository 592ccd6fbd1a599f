"""The function of a Spark task: pass a request to the server of a slot, and start it if needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.errors import StreamsError, TaskMigratedError
from penstock.runtime.spark.exchange.channel import ServerLostError, ask, portable
from penstock.runtime.spark.exchange.stage_request import (
    Endpoint,
    Outcome,
    StageRequest,
)
from penstock.runtime.spark.exchange.worker_lines import Line
from penstock.runtime.spark.worker.kafka_failures import as_streams_error
from penstock.runtime.spark.worker.processes.busy import Busy
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry
from penstock.runtime.spark.worker.processes.spawn import start_server


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTask:
    """The function of a stage's Spark job.

    Spark pickles it with every job, so it carries only the request and no large values.
    """

    #: Spark's broadcast of the pickled application.
    broadcast: Any
    key: str
    application_id: str
    state_dir: str
    generation: int
    secret: bytes
    endpoints: dict[int, Endpoint]
    kind: str
    request: StageRequest

    def __call__(self, numbers: Iterable[int]) -> list[Outcome]:
        return [self._outcome(number) for number in numbers]

    def _outcome(self, number: int) -> Outcome:
        """Pass the request to the slot's server and return its reports or its error.

        An error is returned, not raised. Otherwise Spark would end the worker and run the task
        again, without knowing what the error means.
        """
        lines: list[Line] = []
        try:
            endpoint, answer = self._asked(number, lines)
        except Exception as error:  # noqa: BLE001 - the driver decides what to do about it
            failure = portable(as_streams_error(error))
            return Outcome(slot=number, error=failure, lines=tuple(lines))
        return Outcome(
            slot=number, endpoint=endpoint, reports=tuple(answer or ()), lines=tuple(lines)
        )

    def _asked(self, number: int, lines: list[Line]) -> tuple[Endpoint, Any]:
        known = self.endpoints.get(number)
        if known is not None:
            try:
                return known, self._ask(known, number, lines)
            except ServerLostError:
                # A new server on this executor takes its place, and fences its transaction.
                pass
        endpoint = self._found_or_started(number, known)
        return endpoint, self._ask(endpoint, number, lines)

    def _ask(self, endpoint: Endpoint, number: int, lines: list[Line]) -> Any:
        load: Callable[[], bytes] = lambda: self.broadcast.value  # noqa: E731
        question = (self.kind, self.key, number, self.request)
        busy = Busy(HostRegistry(self.application_id, self.state_dir, number), endpoint)
        return ask(endpoint, self.secret, question, load, hear=lines.extend, is_busy=busy)

    def _found_or_started(self, number: int, lost: Endpoint | None) -> Endpoint:
        registry = HostRegistry(self.application_id, self.state_dir, number)
        with registry.locked():
            entry = registry.read()
            if entry is not None:
                if entry.endpoint != lost and self._answers(entry):
                    return entry.endpoint
                if entry.generation > self.generation:
                    raise TaskMigratedError(
                        "fenced",
                        f"slot {number} on this host belongs to a newer driver",
                        fix="nothing to do if another instance was started",
                    )
                # The server belongs to an older run or to a fenced driver, or it is paused. It
                # must not keep the databases open.
                entry.process.kill()
            process, endpoint = start_server(self.secret, number)
            registry.write(Entry(process, endpoint, self.generation))
            return endpoint

    def _answers(self, entry: Entry) -> bool:
        try:
            ask(entry.endpoint, self.secret, ("ping",), silence_s=5.0)
        except StreamsError:
            return False
        return True
