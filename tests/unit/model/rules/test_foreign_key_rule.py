"""What a foreign-key join asks, keeps and answers."""

from itertools import product

import numpy as np
import pytest

from penstock.model.rules.foreign_key_rule import (
    ANSWER_ALWAYS,
    ends,
    has_foreign_value,
    inner_join_requests,
    is_answered,
    is_joined,
    left_join_requests,
    may_miss_deletion,
    takes_null_key,
)
from penstock.model.subscription import Instruction

SILENT = Instruction.DELETE_KEY_NO_PROPAGATE
DELETE = Instruction.DELETE_KEY_AND_PROPAGATE
IF_FOUND = Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE


def test_row_of_a_left_join_always_subscribes() -> None:
    assert left_join_requests(None, "b", is_moved=False) == (("b", ANSWER_ALWAYS),)
    assert left_join_requests(None, None, is_moved=False) == ((None, ANSWER_ALWAYS),)
    assert left_join_requests("a", "b", is_moved=True) == (("a", SILENT), ("b", ANSWER_ALWAYS))
    assert left_join_requests("a", None, is_moved=True) == (("a", SILENT), (None, ANSWER_ALWAYS))


@pytest.mark.parametrize("may_have_result", [False, True])
def test_row_of_an_inner_join_ends_what_it_gives_up(*, may_have_result: bool) -> None:
    moved = inner_join_requests("a", "b", is_moved=True, may_have_result=may_have_result)
    assert moved == (("a", SILENT), ("b", ANSWER_ALWAYS))
    gone = inner_join_requests("a", None, is_moved=True, may_have_result=may_have_result)
    assert gone == (("a", DELETE),)


def test_row_of_an_inner_join_is_answered_in_any_case_while_it_may_have_a_result() -> None:
    new = inner_join_requests(None, "b", is_moved=False, may_have_result=False)
    assert new == (("b", IF_FOUND),)
    again = inner_join_requests("b", "b", is_moved=False, may_have_result=True)
    assert again == (("b", ANSWER_ALWAYS),)
    assert inner_join_requests(None, None, is_moved=False, may_have_result=False) == ()
    dropped = inner_join_requests(None, None, is_moved=False, may_have_result=True)
    assert dropped == ((None, ANSWER_ALWAYS),)


def test_answers_depend_on_the_instruction_and_the_row() -> None:
    answered = {
        each: [is_answered(each, has_row=False), is_answered(each, has_row=True)]
        for each in Instruction
    }
    assert answered == {
        SILENT: [False, False],
        DELETE: [True, True],
        ANSWER_ALWAYS: [True, True],
        IF_FOUND: [False, True],
    }
    assert [each for each in Instruction if ends(each)] == [SILENT, DELETE]
    assert [each for each in Instruction if takes_null_key(each)] == [ANSWER_ALWAYS]
    assert [each for each in Instruction if not has_foreign_value(each)] == [DELETE]


def test_deletion_may_be_missed_under_the_hash_of_an_older_value() -> None:
    told: dict[bytes, bytes | None] = {b"row": b"old", b"gone": None}
    assert may_miss_deletion(told, b"row", b"new")
    assert not may_miss_deletion(told, b"row", b"old")
    assert not may_miss_deletion(told, b"other", b"new")
    assert not may_miss_deletion(told, b"gone", None)


def test_answer_is_joined_with_a_value_or_a_row_of_a_left_join() -> None:
    cases = [*product([False, True], repeat=2)]
    for is_left in (False, True):
        found = [is_joined(*case, is_left_join=is_left) for case in cases]
        assert found == [False, is_left, True, True]
        columns = np.array(cases).T
        assert is_joined(*columns, is_left_join=is_left).tolist() == found
