"""The function of a beat's Spark job: bring the tickets of a place to the server of that place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import StreamsError
from penstock.runtime.spark.exchange.channel import ServerLostError, ask, portable
from penstock.runtime.spark.exchange.stage_request import Endpoint
from penstock.runtime.spark.exchange.ticket import PlaceOutcome, Ticket
from penstock.runtime.spark.exchange.worker_lines import Line
from penstock.runtime.spark.worker.kafka_failures import as_streams_error
from penstock.runtime.spark.worker.processes.host_registry import Entry, HostRegistry, sweep_pools
from penstock.runtime.spark.worker.processes.spawn import start_server

_PING_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTask:
    """The function of a beat's Spark job, with one partition per place of the pool."""

    pool: str
    secret: bytes
    #: By place: its server, as far as the driver knows.
    servers: Mapping[int, Endpoint]
    tickets: Mapping[int, tuple[Ticket, ...]]
    #: How long the beat waits for slots. After that, each application waits for its own.
    patience_s: float

    def __call__(self, places: Iterable[int]) -> list[PlaceOutcome]:
        return [self._outcome(place) for place in places]

    def _outcome(self, place: int) -> PlaceOutcome:
        """Return the answers of the place's server, or why it cannot be asked."""
        if not self.tickets.get(place):
            return PlaceOutcome(place=place)
        lines: list[Line] = []
        try:
            endpoint, answers = self._asked(place, lines)
        except Exception as error:  # noqa: BLE001 - the driver decides what to do about it
            failure = portable(as_streams_error(error))
            return PlaceOutcome(place=place, error=failure, lines=tuple(lines))
        return PlaceOutcome(
            place=place, endpoint=endpoint, answers=tuple(answers), lines=tuple(lines)
        )

    def _asked(self, place: int, lines: list[Line]) -> tuple[Endpoint, Any]:
        known = self.servers.get(place)
        if known is not None:
            try:
                return known, self._ask(known, place, lines)
            except ServerLostError:
                # A new server on this executor takes its place, and its slots fence their
                # transactions.
                pass
        endpoint = self._found_or_started(place, known)
        return endpoint, self._ask(endpoint, place, lines)

    def _ask(self, endpoint: Endpoint, place: int, lines: list[Line]) -> Any:
        question = ("beat", self.tickets[place], self.patience_s)
        return ask(endpoint, self.secret, question, hear=lines.extend)

    def _found_or_started(self, place: int, lost: Endpoint | None) -> Endpoint:
        registry = HostRegistry.of_place(self.pool, place)
        with registry.locked():
            entry = registry.read()
            if entry is not None:
                if entry.endpoint != lost and self._answers(entry):
                    return entry.endpoint
                # It is paused, and holds the databases of its slots open.
                entry.process.kill()
            sweep_pools()
            process, endpoint = start_server(self.secret, place)
            registry.write(Entry(process, endpoint, 0))
            return endpoint

    def _answers(self, entry: Entry) -> bool:
        try:
            ask(entry.endpoint, self.secret, ("ping",), silence_s=_PING_S)
        except StreamsError:
            return False
        return True
