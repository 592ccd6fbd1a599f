"""Dead letters as plain values, and the protocol of the topic that keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.model.dead_letters import CAUSE, ORIGIN, REDRIVE
from penstock.model.record import Headers
from penstock.serde.base import Serde


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A record of the dead letter topic, as bytes."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()

    @property
    def place(self) -> tuple[int, int]:
        return self.partition, self.offset

    @property
    def size(self) -> int:
        headers = sum(len(name) + len(value or b"") for name, value in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What the headers of a dead letter say. A header that is missing is an empty text, or -1."""

    #: Class of the error.
    error: str
    #: Code of the error, if it is one of Penstock's.
    code: str
    message: str
    stacktrace: str
    node: str
    topic: str
    partition: int
    offset: int

    @property
    def kind(self) -> str:
        """What records are grouped by, together with the node: the code, or else the class."""
        return self.code or self.error


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven:
    """That a record was sent again: how often, by whom, when, and with which note."""

    count: int
    by: str
    at: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Letters:
    """The newest dead letters, in the order of their partitions and offsets.

    ``is_whole`` is false if older ones are in the topic, too.
    """

    letters: Sequence[Letter]
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A record to be sent. Without a partition, the key decides."""

    topic: str
    partition: int | None
    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Where a record has arrived, or why it is not known that it has."""

    partition: int = -1
    offset: int = -1
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSerdes:
    """Complete serdes of a topic that the application reads.

    ``is_internal``: the application writes the topic itself, so nobody else may send there.
    """

    key: Serde[Any]
    value: Serde[Any]
    is_internal: bool = False


class DeadLetters(Protocol):
    """The dead letter topic of an application. Several threads may use it at once.

    Methods raise ``NotAvailableError`` while Kafka does not answer.
    """

    @property
    def topic(self) -> str: ...

    def latest(self, most: int) -> Letters:
        """Return the newest letters, at most this many of each partition."""

    def one(self, partition: int, offset: int) -> Letter | None:
        """Return one letter; None if there is none at this offset."""

    def serdes(self, topic: str) -> SourceSerdes | None:
        """Return the serdes of a source topic; None if the application does not read it."""

    def site(self, node: str) -> str | None:
        """Return the line of the program that made a node, if it is known."""

    def send(self, records: Sequence[Outgoing], patience_s: float) -> Sequence[Delivery]:
        """Write records in order; return where each has arrived after ``patience_s``."""


def origin(letter: Letter) -> Origin:
    """Return what the headers say. Of headers with one name, the last is the newest."""
    said = {name: value or b"" for name, value in letter.headers}

    def text(name: str) -> str:
        return said.get(name, b"").decode("utf-8", "replace")

    return Origin(
        error=text(CAUSE + "exception"),
        code=text(ORIGIN + "code"),
        message=text(CAUSE + "message"),
        stacktrace=text(CAUSE + "stacktrace"),
        node=text(ORIGIN + "node"),
        topic=text(CAUSE + "topic"),
        partition=_number(text(CAUSE + "partition")),
        offset=_number(text(CAUSE + "offset")),
    )


def redriven(headers: Headers) -> Redriven | None:
    """Return what the headers say about sending the record again; None if it never was."""
    said = {name: (value or b"").decode("utf-8", "replace") for name, value in headers}
    count = _number(said.get(REDRIVE + "count", ""))
    if count < 1:
        return None
    return Redriven(
        count=count,
        by=said.get(REDRIVE + "by", ""),
        at=said.get(REDRIVE + "at", ""),
        note=said.get(REDRIVE + "note", ""),
    )


def own_headers(letter: Letter) -> Headers:
    """Return the headers that the record had in its source topic."""
    ours = (CAUSE, ORIGIN, REDRIVE)
    return tuple(each for each in letter.headers if not each[0].startswith(ours))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else -1
