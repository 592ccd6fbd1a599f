"""Tells whether a row of the past belongs to the answer of a question, as the store would."""

from __future__ import annotations

from typing import Any, assert_never

from penstock.serde.base import Serde
from penstock.serving.application import Row, StoreChange, StoreInfo
from penstock.serving.past.looking_back import Place
from penstock.serving.question import (
    KeyQuestion,
    PrefixQuestion,
    Question,
    RangeQuestion,
    SessionQuestion,
    VersionsQuestion,
    WindowQuestion,
    row_order,
)


def place_of(info: StoreInfo, change: StoreChange) -> Place:
    """Return which row a change is about."""
    key = info.key_serde.serialize(info.changelog, change.key) or b""
    return Place(key, change.window_start, change.window_end)


def row_of(info: StoreInfo, change: StoreChange) -> Row:
    """Return the row that a change made."""
    place = place_of(info, change)
    return Row(
        change.key, change.value, change.timestamp, change.window_start, change.window_end,
        order=order_of(place),
    )  # fmt: skip


def order_of(place: Place) -> bytes:
    """Return where a row stands among the rows of its store."""
    return row_order(place.key, place.window_start, place.window_end)


def fits(info: StoreInfo, place: Place, question: Question) -> bool:
    """Return whether a row belongs to the answer; ``after`` and ``limit`` do not count."""
    match question:
        case KeyQuestion(key=key) | VersionsQuestion(key=key):
            return place.key == _bytes(info, key)
        case PrefixQuestion(prefix=prefix):
            return place.key.startswith(prefix)
        case RangeQuestion(start=start, end=end):
            is_after = start is None or place.key >= _bytes(info, start)
            is_before = end is None or place.key <= _bytes(info, end)
            return is_after and is_before and _starts_within(place, question)
        case WindowQuestion(key=key):
            return place.key == _bytes(info, key) and _starts_within(place, question)
        case SessionQuestion(key=key):
            return place.key == _bytes(info, key) and _overlaps(place, question)
        case _:
            assert_never(question)


def _starts_within(place: Place, question: RangeQuestion | WindowQuestion) -> bool:
    start = place.window_start
    if start is None:
        return True
    latest = question.time_to
    return start >= (question.time_from or 0) and (latest is None or start <= latest)


def _overlaps(place: Place, question: SessionQuestion) -> bool:
    start, end, latest = place.window_start or 0, place.window_end or 0, question.time_to
    return end >= (question.time_from or 0) and (latest is None or start <= latest)


def _bytes(info: StoreInfo, key: Any) -> bytes:
    serde: Serde[Any] = info.key_serde
    return serde.serialize(info.changelog, key) or b""
