"""``/failed-records``: dead letters by error and node, and sending them again."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from msgspec import Raw
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.serde.base import Serde
from penstock.serde.to_json import to_json
from penstock.serving.application import Queryable
from penstock.serving.body import limited_body
from penstock.serving.credentials import Access, Caller
from penstock.serving.failed.failed_records import (
    MOST_LETTERS,
    FailedRecords,
    Group,
    Outcome,
    groups,
    no_such_letter,
)
from penstock.serving.failed.models import (
    DeliveryModel,
    FailedGroupModel,
    FailedRecordDetailModel,
    FailedRecordModel,
    FailedRecordsModel,
    HeaderModel,
    PartModel,
    RedriveModel,
    RedrivenModel,
    RedriveResultModel,
    SentModel,
)
from penstock.serving.failed.parts import editable, shown
from penstock.serving.failed.values import (
    DeadLetters,
    Letter,
    Origin,
    origin,
    own_headers,
    redriven,
)
from penstock.serving.in_thread import in_thread
from penstock.serving.options import Limits
from penstock.serving.parameters import bad_request, parameters
from penstock.serving.replies import json_response

#: The only path that changes something.
REDRIVE_PATH = "/failed-records/redrive"
_DEFAULT_LETTERS = 500
_LIMIT = frozenset({"limit"})
#: The newest records of a group that a list has, and the most bytes of each value.
_MOST_SHOWN = 20
_MOST_BYTES = 2_000
#: An answer is on its way before the time for it is over.
_SHARE_OF_TIME = 0.8

_DECODER = msgspec.json.Decoder(RedriveModel)


class FailedRoutes:
    """Answer about the dead letters of an application, and send them again for who may write."""

    def __init__(self, application: Queryable, limits: Limits) -> None:
        self._application, self._limits = application, limits
        self._known: FailedRecords | None = None

    def routes(self) -> list[Route]:
        return [
            Route("/failed-records", self.listed, methods=["GET"]),
            Route(REDRIVE_PATH, self.redrive, methods=["POST"]),
            Route("/failed-records/{partition}/{offset}", self.one, methods=["GET"]),
        ]

    async def listed(self, request: Request) -> Response:
        given = parameters(request.scope["query_string"], _LIMIT)
        limit = min(given.limit or _DEFAULT_LETTERS, MOST_LETTERS)
        return json_response(await in_thread(partial(self._listed, limit), self._limits.request_s))

    async def one(self, request: Request) -> Response:
        parameters(request.scope["query_string"], frozenset())
        place = request.path_params["partition"], request.path_params["offset"]
        if not all(text.isascii() and text.isdigit() and len(text) <= 18 for text in place):
            raise bad_request("a letter is named by a partition and an offset")
        return json_response(
            await in_thread(partial(self._one, *map(int, place)), self._limits.request_s)
        )

    async def redrive(self, request: Request) -> Response:
        if request.scope["penstock.access"] < Access.WRITE:
            raise HTTPException(403, "sending records again needs credentials that may write")
        body = await limited_body(request, self._limits.request_bytes)
        try:
            wanted = _DECODER.decode(body)
        except msgspec.MsgspecError as error:
            raise bad_request(f"the body is wrong: {error}", "see /openapi.json") from error
        if (wanted.group is None) == (not wanted.records):
            raise bad_request("give records or a group", "one of both, not both")
        by = _name(request.scope["penstock.caller"])
        return json_response(
            await in_thread(partial(self._sent, wanted, by), self._limits.request_s)
        )

    # Called in a thread

    def _listed(self, limit: int) -> FailedRecordsModel:
        name, failed = self._application.application_id, self._failed()
        if failed is None:
            return FailedRecordsModel(name, None, 0, is_whole=True, through={}, groups=[])
        found = failed.topic.latest(limit)
        through: dict[str, int] = {}
        for letter in found.letters:
            end = max(through.get(str(letter.partition), 0), letter.offset + 1)
            through[str(letter.partition)] = end
        made = [_group(failed, group) for group in groups(found.letters)]
        count = len(found.letters)
        return FailedRecordsModel(name, failed.topic.topic, count, found.is_whole, through, made)

    def _one(self, partition: int, offset: int) -> FailedRecordDetailModel:
        failed = self._needed()
        letter = failed.topic.one(partition, offset)
        if letter is None:
            raise no_such_letter(partition, offset)
        return _detail(failed, letter, self._limits.request_bytes)

    def _sent(self, wanted: RedriveModel, by: str) -> RedriveResultModel:
        failed, patience_s = self._needed(), self._limits.request_s * _SHARE_OF_TIME
        if wanted.group is not None:
            outcomes = failed.send_group(wanted.group, by, wanted.note, patience_s)
        else:
            outcomes = failed.send_records(wanted.records, by, wanted.note, patience_s)
        refused = sum(each.code is not None for each in outcomes)
        models = [_delivery(each) for each in outcomes]
        return RedriveResultModel(len(outcomes) - refused, refused, models)

    def _needed(self) -> FailedRecords:
        failed = self._failed()
        if failed is None:
            raise bad_request(
                "the application keeps no dead letters",
                "set errors.dead.letter.queue.topic.name, and handlers that continue",
            )
        return failed

    def _failed(self) -> FailedRecords | None:
        letters: DeadLetters | None = self._application.dead_letters()
        known = self._known
        if letters is None:
            return None
        if known is None or known.topic is not letters:
            known = self._known = FailedRecords(letters)
        return known


def _group(failed: FailedRecords, group: Group) -> FailedGroupModel:
    letters = [letter for letter, _ in group.letters]
    times = [letter.timestamp for letter in letters]
    return FailedGroupModel(
        error=group.error,
        node=group.node,
        site=failed.topic.site(group.node),
        message=group.letters[0][1].message,
        count=len(letters),
        left=sum(failed.sent(letter) is None for letter in letters),
        first_ms=min(times),
        last_ms=max(times),
        topics=sorted({at.topic for _, at in group.letters}),
        records=[_record(failed, *each) for each in group.letters[:_MOST_SHOWN]],
    )


def _record(
    failed: FailedRecords, letter: Letter, at: Origin, most: int = _MOST_BYTES
) -> FailedRecordModel:
    of_keys, of_values = _serdes(failed, at)
    key, _ = shown(letter.key, of_keys, at.topic)
    value, is_decoded = shown(letter.value, of_values, at.topic)
    is_cut = len(bytes(value)) > most
    if is_cut:
        value = Raw(to_json(bytes(value)[:most].decode("utf-8", "ignore") + "…"))
    before, sent = redriven(letter.headers), failed.sent(letter)
    return FailedRecordModel(
        partition=letter.partition,
        offset=letter.offset,
        timestamp=letter.timestamp,
        topic=at.topic,
        source_partition=at.partition,
        source_offset=at.offset,
        key=key,
        value=value,
        is_decoded=is_decoded,
        is_cut=is_cut,
        message=at.message,
        redriven=(
            None
            if before is None
            else RedrivenModel(before.count, before.by, before.at, before.note)
        ),
        sent=None if sent is None else SentModel(sent.partition, sent.offset, sent.by, sent.at),
    )


def _serdes(failed: FailedRecords, at: Origin) -> tuple[Serde[Any] | None, Serde[Any] | None]:
    found = failed.topic.serdes(at.topic)
    return (None, None) if found is None else (found.key, found.value)


def _detail(failed: FailedRecords, letter: Letter, most: int) -> FailedRecordDetailModel:
    at = origin(letter)
    of_keys, of_values = _serdes(failed, at)
    refusal = failed.refusal(at)
    key = editable(letter.key, of_keys, at.topic)
    value = editable(letter.value, of_values, at.topic)
    headers = [HeaderModel(name, shown(v, None, "")[0]) for name, v in own_headers(letter)]
    return FailedRecordDetailModel(
        record=_record(failed, letter, at, most),
        error=at.error,
        code=at.code,
        node=at.node,
        site=failed.topic.site(at.node),
        stacktrace=at.stacktrace,
        headers=headers,
        edit_key=None if key is None else PartModel(key.form, key.text),
        edit_value=None if value is None else PartModel(value.form, value.text),
        refused=None if refusal is None else refusal.message,
    )


def _delivery(outcome: Outcome) -> DeliveryModel:
    partition, offset = outcome.place
    delivery = outcome.delivery
    if outcome.code is None:
        return DeliveryModel(partition, offset, outcome.topic, delivery.partition, delivery.offset)
    return DeliveryModel(
        partition, offset, outcome.topic, code=outcome.code, message=delivery.error
    )


def _name(caller: Caller) -> str:
    """Return who sends: the name of a user. A token has no name, and must not be told."""
    return caller.name or ("a token" if caller.digest else "anonymous")
