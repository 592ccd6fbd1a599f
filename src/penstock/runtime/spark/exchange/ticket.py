"""The requests of a shared beat to a slot server, and its answers: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from penstock.runtime.spark.exchange.stage_request import Endpoint, StageRequest
from penstock.runtime.spark.exchange.worker_lines import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One request to one slot of one application.

    The id belongs to one attempt of the driver. Spark may run a task twice: the second one has the
    same ticket, and gets the answer of the first. A driver that asks again has another id.
    """

    id: str
    kind: str
    #: The run of the application, and the number of its slot.
    key: str
    number: int
    #: The place in the pool whose server has the slot.
    place: int
    request: StageRequest

    @property
    def slot(self) -> tuple[str, int]:
        return self.key, self.number


class Stand(Enum):
    """The progress of a ticket."""

    DONE = "done"
    FAILED = "failed"
    #: The server still works on it. The driver waits for it there.
    PENDING = "pending"
    #: The server does not have the slot, and needs the application first.
    UNKNOWN = "unknown"


class Answer(NamedTuple):
    """The answer of a server about a ticket. Its content is the reports, or an error."""

    stand: Stand
    content: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceOutcome:
    """The result of one Spark task of a beat: the answers by ticket, or one error for all."""

    place: int
    endpoint: Endpoint | None = None
    answers: tuple[tuple[str, Answer], ...] = ()
    error: BaseException | None = None
    #: What programs have printed and logged in the server since its last answer.
    lines: tuple[Line, ...] = ()
