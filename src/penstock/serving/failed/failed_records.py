"""Groups dead letters by error and node, and sends them again into their source topics."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from penstock.errors import InvalidArgumentError, PenstockError
from penstock.model.dead_letters import REDRIVE
from penstock.model.record import Headers
from penstock.serving.failed.models import PartModel, RedriveGroupModel, RedriveRecordModel
from penstock.serving.failed.parts import FORMS, Part, edited
from penstock.serving.failed.values import (
    DeadLetters,
    Delivery,
    Letter,
    Origin,
    Outgoing,
    origin,
    own_headers,
    redriven,
)

#: Most letters that are read of a partition, and so the most that are sent again at once.
MOST_LETTERS = 1_000
_MOST_NOTE = 200
#: How many letters that were sent again are remembered.
_MOST_SENT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Where a letter was sent to, by whom and when."""

    partition: int
    offset: int
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The letters of one error at one node, the newest first."""

    error: str
    node: str
    letters: Sequence[tuple[Letter, Origin]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one letter that was to be sent again."""

    place: tuple[int, int]
    topic: str
    delivery: Delivery
    code: str | None = None


class FailedRecords:
    """Answers about one dead letter topic, and remembers what it has sent again.

    Args:
        topic: the dead letters.
        now: the time for the headers of what is sent again.
    """

    def __init__(
        self, topic: DeadLetters, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.topic = topic
        self._now = now
        self._sent: OrderedDict[tuple[int, int], Sent] = OrderedDict()
        #: Two callers must not send the same letter at the same time.
        self._sending = threading.Lock()

    def sent(self, letter: Letter) -> Sent | None:
        """Return when this instance has sent a letter again; None if it has not."""
        return self._sent.get(letter.place)

    def refusal(self, at: Origin) -> InvalidArgumentError | None:
        """Return why the record cannot be sent again; None if it can."""
        serdes = self.topic.serdes(at.topic)
        if serdes is None:
            return InvalidArgumentError(
                "not-a-source",
                f"the application does not read topic {at.topic!r}, which the letter names",
                fix="produce the record yourself where it belongs",
            )
        if serdes.is_internal:
            return InvalidArgumentError(
                "not-a-source",
                f"the record failed behind the internal topic {at.topic!r}, where nobody else may"
                " write",
                fix="send again the record of a source topic that led to it",
            )
        return None

    def of_group(self, wanted: RedriveGroupModel) -> list[Letter]:
        """Return the letters of a group that the caller has seen and that are not sent yet."""
        through = {int(name): end for name, end in wanted.through.items() if name.isdigit()}
        return [
            letter
            for letter in self.topic.latest(MOST_LETTERS).letters
            if letter.offset < through.get(letter.partition, 0)
            and letter.place not in self._sent
            and (origin(letter).kind, origin(letter).node) == (wanted.error, wanted.node)
        ]

    def send_group(
        self, wanted: RedriveGroupModel, by: str, note: str, patience_s: float
    ) -> list[Outcome]:
        """Send the letters of a group again, as they are."""
        _check_note(note)
        with self._sending:
            return self._send([(each, {}) for each in self.of_group(wanted)], by, note, patience_s)

    def send_records(
        self, wanted: Sequence[RedriveRecordModel], by: str, note: str, patience_s: float
    ) -> list[Outcome]:
        """Send some letters again, edited or as they are.

        Raises:
            InvalidArgumentError: ``bad-record``: an edited part cannot be read by the application;
                ``no-such-letter``; ``not-a-source``. Then nothing was sent.
        """
        _check_note(note)
        if len(wanted) > MOST_LETTERS:
            raise _bad_request(f"more than {MOST_LETTERS} records", "send them in several requests")
        if len({(each.partition, each.offset) for each in wanted}) < len(wanted):
            raise _bad_request("a record is there twice", "name each record once")
        with self._sending:
            found = [self._edited(each) for each in wanted]
            return self._send(found, by, note, patience_s)

    def _edited(self, wanted: RedriveRecordModel) -> tuple[Letter, dict[str, bytes | None]]:
        letter = self.topic.one(wanted.partition, wanted.offset)
        if letter is None:
            raise no_such_letter(wanted.partition, wanted.offset)
        at = origin(letter)
        refusal = self.refusal(at)
        if refusal is not None:
            raise refusal
        serdes = self.topic.serdes(at.topic)
        assert serdes is not None
        changes: dict[str, bytes | None] = {}
        given = (("key", wanted.key, serdes.key), ("value", wanted.value, serdes.value))
        for name, part, serde in given:
            if part is None:
                changes[name] = None
            elif isinstance(part, PartModel):
                if part.form not in FORMS:
                    raise _bad_request(f"the {name} has no form {part.form[:40]!r}", str(FORMS))
                headers = own_headers(letter)
                changes[name] = edited(Part(*_pair(part)), serde, at.topic, headers, name)
        before = {"key": letter.key, "value": letter.value}
        return letter, {name: data for name, data in changes.items() if data != before[name]}

    def _send(
        self,
        wanted: Sequence[tuple[Letter, Mapping[str, bytes | None]]],
        by: str,
        note: str,
        patience_s: float,
    ) -> list[Outcome]:
        """Send what can be sent, in the order of the letters, and note what has arrived."""
        at_time = self._now().isoformat(timespec="milliseconds")
        outcomes: dict[tuple[int, int], Outcome] = {}
        going: list[tuple[Letter, Outgoing]] = []
        for letter, changes in wanted:
            at = origin(letter)
            refusal = self.refusal(at)
            if refusal is None:
                going.append((letter, self._outgoing(letter, at, changes, by, at_time, note)))
            else:
                outcomes[letter.place] = _refused(letter, at, refusal)
        arrived = self.topic.send([record for _, record in going], patience_s) if going else []
        for (letter, record), delivery in zip(going, arrived, strict=True):
            code = None if delivery.error is None else "not-delivered"
            outcomes[letter.place] = Outcome(
                place=letter.place, topic=record.topic, delivery=delivery, code=code
            )
            if code is None:
                self._note(letter, delivery, by, at_time)
        return [outcomes[letter.place] for letter, _ in wanted]

    def _outgoing(
        self,
        letter: Letter,
        at: Origin,
        changes: Mapping[str, bytes | None],
        by: str,
        at_time: str,
        note: str,
    ) -> Outgoing:
        before = redriven(letter.headers)
        about = {
            "by": by,
            "at": at_time,
            "from": f"{self.topic.topic}/{letter.partition}/{letter.offset}",
            "count": str(1 if before is None else before.count + 1),
            "edited": ",".join(changes),
            "note": note,
        }
        said: Headers = tuple((REDRIVE + n, text.encode()) for n, text in about.items() if text)
        record = Outgoing(
            topic=at.topic,
            # A record with another key belongs where that key does.
            partition=None if "key" in changes or at.partition < 0 else at.partition,
            key=letter.key,
            value=letter.value,
            timestamp=letter.timestamp,
            headers=(*own_headers(letter), *said),
        )
        return replace(record, **changes)  # type: ignore[arg-type]

    def _note(self, letter: Letter, delivery: Delivery, by: str, at_time: str) -> None:
        self._sent[letter.place] = Sent(
            partition=delivery.partition, offset=delivery.offset, by=by, at=at_time
        )
        while len(self._sent) > _MOST_SENT:
            self._sent.popitem(last=False)


def groups(letters: Sequence[Letter]) -> list[Group]:
    """Return letters by error and node; the largest group first, the newest letters first."""
    found: dict[tuple[str, str], list[tuple[Letter, Origin]]] = {}
    for letter in sorted(letters, key=lambda each: (each.timestamp, each.place), reverse=True):
        at = origin(letter)
        found.setdefault((at.kind, at.node), []).append((letter, at))
    made = [Group(error=kind, node=node, letters=own) for (kind, node), own in found.items()]
    return sorted(made, key=lambda group: (-len(group.letters), group.error, group.node))


def no_such_letter(partition: int, offset: int) -> InvalidArgumentError:
    return InvalidArgumentError(
        "no-such-letter",
        f"the dead letter topic has no record at offset {offset} of partition {partition}",
        fix="list /failed-records again: retention may have deleted it",
    )


def _pair(part: PartModel) -> tuple[str, str]:
    return part.form, part.text


def _refused(letter: Letter, at: Origin, why: PenstockError) -> Outcome:
    return Outcome(
        place=letter.place, topic=at.topic, delivery=Delivery(error=why.message), code=why.code
    )


def _check_note(note: str) -> None:
    if len(note) > _MOST_NOTE:
        raise _bad_request(f"the note has more than {_MOST_NOTE} characters", "shorten it")


def _bad_request(message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError("bad-request", message, fix=fix)
