"""What the two sides of a foreign-key join decide about a row or a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.model.subscription import Instruction

_DELETE_SILENTLY = Instruction.DELETE_KEY_NO_PROPAGATE
_DELETE = Instruction.DELETE_KEY_AND_PROPAGATE
_ANSWER_ALWAYS = Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE
_ANSWER_IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


class Request(NamedTuple):
    """A message to the right row of a foreign key; the key may be ``None``."""

    foreign_key: Any
    instruction: Instruction


_Requests = tuple[Request, ...]


def left_join_requests(old: Any, new: Any, *, is_moved: bool) -> _Requests:
    """Return what a left row sends that had and has these foreign keys.

    A null foreign key subscribes, too: its answer is ``None`` and makes the result.

    Args:
        old: the foreign key that the row had; ``None`` if it had none.
        new: the one that it has.
        is_moved: whether it had one and has another one now, or none.
    """
    if is_moved:
        return Request(old, _DELETE_SILENTLY), Request(new, _ANSWER_ALWAYS)
    return (Request(new, _ANSWER_ALWAYS),)


def inner_join_requests(old: Any, new: Any, *, is_moved: bool, may_have_result: bool) -> _Requests:
    """Do the same for an inner join, which drops a row that neither had nor has a foreign key.

    ``may_have_result`` says that an answer which deletes the row's result may be on its way. If the
    row changes before that answer is back, the answer will be dropped. So every change is answered.
    """
    if is_moved:
        if new is None:
            return (Request(old, _DELETE),)
        # The result of the old foreign key has to be deleted even if the new one finds no row.
        return Request(old, _DELETE_SILENTLY), Request(new, _ANSWER_ALWAYS)
    if new is None:
        return (Request(None, _ANSWER_ALWAYS),) if may_have_result else ()
    return (Request(new, _ANSWER_ALWAYS if may_have_result else _ANSWER_IF_FOUND),)


def ends(instruction: Instruction) -> bool:
    """Tell whether a message ends a subscription; any other one begins or replaces it."""
    return instruction is _DELETE or instruction is _DELETE_SILENTLY


def takes_null_key(instruction: Instruction) -> bool:
    """Tell whether a message without a foreign key is answered. No row will ever have that key."""
    return instruction is _ANSWER_ALWAYS


def may_miss_deletion(
    told: Mapping[bytes, bytes | None], subscribed: bytes, digest: bytes | None
) -> bool:
    """Tell whether a subscriber was told of a deleted row under the hash of an older value.

    It may drop that answer, so the new subscription is answered in any case.
    """
    return subscribed in told and told[subscribed] != digest


def is_answered(instruction: Instruction, *, has_row: bool) -> bool:
    """Tell whether a message is answered, given whether there is a right row."""
    return instruction is not _DELETE_SILENTLY and (has_row or instruction is not _ANSWER_IF_FOUND)


def has_foreign_value(instruction: Instruction) -> bool:
    """Tell whether the answer has the value of the right row; else it deletes the result."""
    return instruction is not _DELETE


def is_joined(has_foreign_value: Any, has_row: Any, *, is_left_join: bool) -> Any:
    """Tell whether an answer is joined with the left row; else there is no result.

    The first two arguments are single answers, or arrays of them.
    """
    return has_foreign_value | (has_row & is_left_join)


#: The instruction of a message that is answered in any case.
ANSWER_ALWAYS = _ANSWER_ALWAYS
