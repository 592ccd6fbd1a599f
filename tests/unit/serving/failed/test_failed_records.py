"""Dead letters are grouped, and sent again with headers that say who and when.

Exercises ``failed.values``.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError, StreamsError
from penstock.serving.failed.failed_records import FailedRecords, Outcome, groups
from penstock.serving.failed.models import PartModel, RedriveGroupModel, RedriveRecordModel
from penstock.serving.failed.values import Letter, origin, own_headers, redriven
from tests.unit.serving.memory_letters import MemoryLetters, letter

NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
MISSING = KeyError("amount")
BROKEN = StreamsError("bad-price", "the price is negative")


def failed_of(topic: MemoryLetters) -> FailedRecords:
    return FailedRecords(topic, now=lambda: NOON)


def resend(
    failed: FailedRecords, *records: RedriveRecordModel, by: str = "ann", note: str = ""
) -> list[Outcome]:
    return failed.send_records(records, by, note, 1.0)


def test_letters_are_grouped_by_error_and_node_the_largest_group_first() -> None:
    """An error of Penstock's is named by its code, any other by its class."""
    found = groups(
        [
            letter(0, MISSING),
            letter(1, BROKEN),
            letter(2, MISSING, node="tax"),
            letter(3, MISSING),
        ]
    )
    named = [(each.error, each.node, [at.offset for at, _ in each.letters]) for each in found]
    assert named == [
        ("KeyError", "price", [3, 0]), ("KeyError", "tax", [2]), ("bad-price", "price", [1]),
    ]  # fmt: skip


def test_a_letter_of_another_writer_has_what_its_headers_say() -> None:
    """Kafka Streams writes no node, and other programs may write anything."""
    at = origin(Letter(partition=0, offset=7, timestamp=1, key=None, value=b""))
    assert (at.kind, at.node, at.topic, at.partition, at.offset) == ("", "", "", -1, -1)


def test_a_record_goes_back_to_its_partition_with_its_time_and_its_own_headers() -> None:
    """The headers that say why it failed are gone; new ones say who sent it again."""
    topic = MemoryLetters(letter(5, MISSING, headers=(("trace", b"7"),)))
    (outcome,) = resend(failed_of(topic), RedriveRecordModel(0, 5), note="fixed in 1.4")
    (sent,) = topic.records
    assert (sent.topic, sent.partition, sent.timestamp) == ("orders", 3, 1_005)
    assert (sent.key, sent.value) == (b"o-1", b'{"amount":1}')
    assert dict(sent.headers) == {
        "trace": b"7",
        "__penstock.redrive.by": b"ann",
        "__penstock.redrive.at": b"2026-05-04T12:00:00.000+00:00",
        "__penstock.redrive.from": b"dead/0/5",
        "__penstock.redrive.count": b"1",
        "__penstock.redrive.note": b"fixed in 1.4",
    }
    assert (outcome.code, outcome.delivery.offset) == (None, 1)


def test_a_record_that_fails_again_counts_how_often() -> None:
    """Its second letter has the headers of the first redrive, and the third says 2."""
    topic = MemoryLetters(letter(0, MISSING))
    resend(failed_of(topic), RedriveRecordModel(0, 0))
    topic.letters.append(letter(1, MISSING, headers=topic.records[0].headers))
    resend(failed_of(topic), RedriveRecordModel(0, 1), by="bob")
    again = redriven(topic.records[1].headers)
    assert again is not None
    assert (again.count, again.by) == (2, "bob")
    assert own_headers(topic.letters[1]) == ()


def test_an_edited_key_decides_the_partition_and_is_noted() -> None:
    """The value is written as the source topic's serde reads it."""
    topic = MemoryLetters(letter(0, MISSING, topic="counts", value=b"x"))
    resend(
        failed_of(topic),
        RedriveRecordModel(0, 0, key=PartModel("text", "o-2"), value=PartModel("value", "-3")),
    )
    (sent,) = topic.records
    minus_three = (-3).to_bytes(8, "big", signed=True)
    assert (sent.partition, sent.key, sent.value) == (None, b"o-2", minus_three)
    assert dict(sent.headers)["__penstock.redrive.edited"] == b"key,value"


def test_a_part_that_was_not_changed_is_not_noted_as_edited() -> None:
    """A form sends all of its fields."""
    topic = MemoryLetters(letter(0, MISSING))
    resend(failed_of(topic), RedriveRecordModel(0, 0, key=PartModel("text", "o-1"), value=None))
    assert (topic.records[0].partition, topic.records[0].value) == (3, None)
    assert dict(topic.records[0].headers)["__penstock.redrive.edited"] == b"value"


def test_a_record_cannot_be_sent_twice_by_one_request() -> None:
    """It would count twice."""
    topic = MemoryLetters(letter(0, MISSING))
    with pytest.raises(InvalidArgumentError, match="twice"):
        resend(failed_of(topic), RedriveRecordModel(0, 0), RedriveRecordModel(0, 0))


def test_a_value_that_would_fail_again_is_refused_and_nothing_is_sent() -> None:
    """All records are checked before the first one goes."""
    topic = MemoryLetters(letter(0, MISSING), letter(1, MISSING))
    broken = RedriveRecordModel(0, 1, value=PartModel("text", '{"amount":'))
    with pytest.raises(InvalidArgumentError, match="the value cannot be read as JsonSerde"):
        resend(failed_of(topic), RedriveRecordModel(0, 0), broken)
    assert topic.records == []


@pytest.mark.parametrize(
    ("source", "said"),
    [("elsewhere", "does not read topic"), ("app-by-user-repartition", "internal topic")],
)
def test_only_topics_that_the_application_reads_from_others_are_written(
    source: str, said: str
) -> None:
    """Headers are data: whoever can write a letter must not choose where the server writes."""
    topic = MemoryLetters(letter(0, MISSING, topic=source))
    with pytest.raises(InvalidArgumentError, match=said) as raised:
        resend(failed_of(topic), RedriveRecordModel(0, 0))
    assert raised.value.code == "not-a-source"
    (outcome,) = failed_of(topic).send_group(
        RedriveGroupModel("KeyError", "price", {"0": 9}), "ann", "", 1.0
    )
    assert outcome.code == "not-a-source"
    assert topic.records == []


def test_a_group_is_sent_once_and_only_as_far_as_it_was_seen() -> None:
    """What came after the list was made is not sent unseen; what was sent is not sent again."""
    topic = MemoryLetters(*(letter(n, MISSING) for n in range(4)), letter(4, BROKEN))
    failed = failed_of(topic)
    group = RedriveGroupModel("KeyError", "price", {"0": 3})
    assert len(failed.send_group(group, "ann", "", 1.0)) == 3
    assert failed.send_group(group, "ann", "", 1.0) == []
    assert [record.timestamp for record in topic.records] == [1_000, 1_001, 1_002]


def test_a_record_that_did_not_arrive_may_be_sent_again() -> None:
    """Only what Kafka has confirmed counts as sent."""
    topic = MemoryLetters(letter(0, MISSING), letter(1, MISSING, key=b"large"))
    topic.refuses = {b"large": "Broker: Message size too large"}
    failed = failed_of(topic)
    group = RedriveGroupModel("KeyError", "price", {"0": 2})
    outcomes = failed.send_group(group, "ann", "", 1.0)
    assert [each.code for each in outcomes] == [None, "not-delivered"]
    topic.refuses = {}
    (again,) = failed.send_group(group, "ann", "", 1.0)
    assert again.place == (0, 1)
    assert failed.sent(topic.letters[0]) is not None


@given(
    errors=st.lists(st.sampled_from([MISSING, BROKEN, ValueError("x")]), max_size=30),
    through=st.integers(0, 31),
)
def test_groups_hold_every_letter_once_and_a_redrive_sends_a_prefix(
    errors: list[Exception], through: int
) -> None:
    """Whatever failed: no letter is lost by grouping, and none is sent that was not seen."""
    topic = MemoryLetters(*(letter(number, error) for number, error in enumerate(errors)))
    found = groups(topic.letters)
    places = [each.place for group in found for each, _ in group.letters]
    assert sorted(places) == [each.place for each in topic.letters]
    failed = failed_of(topic)
    for group in found:
        wanted = RedriveGroupModel(group.error, group.node, {"0": through})
        failed.send_group(wanted, "ann", "", 1.0)
    times = sorted(record.timestamp for record in topic.records)
    assert times == [1_000 + number for number in range(min(through, len(errors)))]
