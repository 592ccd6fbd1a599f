from collections import Counter

import pytest
from confluent_kafka import KafkaError

from penstock.kafka.error_table import ROWS, ErrorRow, Verdict, reason, verdict

KNOWN = {
    name: value
    for name in dir(KafkaError)
    if isinstance(value := getattr(KafkaError, name), int) and not name.startswith("__")
}
#: A code that no librdkafka has.
UNHEARD_OF = 9_999


def test_every_error_that_the_client_knows_has_exactly_one_verdict() -> None:
    """A new librdkafka with new errors fails here, not in production."""
    assert Counter(row.name for row in ROWS) == dict.fromkeys(KNOWN, 1)


def test_no_two_rows_share_a_code() -> None:
    """The verdict is looked up by code."""
    assert {row.code for row in ROWS} == set(KNOWN.values())
    assert len({row.code for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError._PARTITION_EOF, Verdict.IGNORE),
        (KafkaError._ALL_BROKERS_DOWN, Verdict.WAIT),
        (KafkaError.NOT_ENOUGH_REPLICAS, Verdict.WAIT),
        (KafkaError.INVALID_PRODUCER_EPOCH, Verdict.RENEW),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, Verdict.FORBIDDEN),
        (KafkaError.MSG_SIZE_TOO_LARGE, Verdict.RECORD),
        (KafkaError.OFFSET_OUT_OF_RANGE, Verdict.OFFSETS),
        (KafkaError.UNSUPPORTED_VERSION, Verdict.FATAL),
    ],
)
def test_a_code_and_an_error_with_it_get_the_same_verdict(code: int, expected: Verdict) -> None:
    """A caller may have either."""
    assert verdict(code) is verdict(KafkaError(code)) is expected
    assert reason(code) == reason(KafkaError(code))


def test_waiting_with_a_client_that_met_a_fatal_error_becomes_renewing() -> None:
    """Such a client answers every later call with an error."""
    assert verdict(KafkaError(KafkaError._TIMED_OUT, "…", True)) is Verdict.RENEW
    assert verdict(KafkaError(KafkaError.UNSUPPORTED_VERSION, "…", True)) is Verdict.FATAL


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((False, False, False), Verdict.FATAL),
        ((False, True, False), Verdict.WAIT),
        ((False, False, True), Verdict.RENEW),
    ],
)
def test_unheard_of_error_goes_by_its_flags(
    flags: tuple[bool, bool, bool], expected: Verdict
) -> None:
    """A newer librdkafka may have codes that the table does not have."""
    assert verdict(KafkaError(UNHEARD_OF, "odd", *flags)) is expected
    assert verdict(UNHEARD_OF) is Verdict.FATAL
    assert reason(KafkaError(UNHEARD_OF, "odd")) == "Kafka's error 9999 is not known here: odd"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_reason_is_a_plain_sentence(row: ErrorRow) -> None:
    """It stands in messages behind a colon, and in a table cell."""
    assert row.reason
    assert not row.reason.endswith(".")
    assert "|" not in row.reason
