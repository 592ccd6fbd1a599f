import pickle

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.kafka.admin_failures import (
    explained,
    is_transient,
    topic_differs,
    unknown_partition,
    unknown_topic,
    verdict_of,
)
from penstock.kafka.clients import ReportedErrors
from penstock.kafka.error_table import Verdict
from penstock.kafka.errors import UnknownGroupError


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError._TRANSPORT, "broker-unreachable"),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "not-allowed"),
        (KafkaError.GROUP_ID_NOT_FOUND, "unknown-group"),
        (KafkaError.NON_EMPTY_GROUP, "group-in-use"),
        (KafkaError.INVALID_CONFIG, "kafka-refused"),
        (KafkaError.NOT_COORDINATOR, "kafka-not-ready"),
        # librdkafka says so while no partition of a topic has a leader.
        (KafkaError._NOENT, "kafka-not-ready"),
    ],
)
def test_refusal_gets_a_stable_code(code: int, expected: str) -> None:
    """Programs react to codes; the broker's wording changes between versions."""
    error = explained(KafkaException(KafkaError(code)), "list topics", "host:1")
    assert error.code == expected
    assert "cannot list topics" in error.message


def test_missing_group_is_a_class_of_its_own() -> None:
    """Asking for something that is not there is often fine."""
    failure = KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND))
    assert isinstance(explained(failure, "x", "host:1"), UnknownGroupError)


def test_starting_broker_is_asked_again() -> None:
    """A coordinator that is not ready yet is no error of the user's."""
    assert is_transient(KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)))
    assert not is_transient(KafkaException(KafkaError(KafkaError.INVALID_CONFIG)))


def test_brokers_that_are_all_fenced_are_waited_for() -> None:
    """Their controller does not count brokers that start, or that are slow. Others stay too few."""
    code = KafkaError.INVALID_REPLICATION_FACTOR
    fenced = KafkaException(
        KafkaError(code, "Unable to replicate: All brokers are currently fenced.")
    )
    assert is_transient(fenced)
    error = explained(fenced, "create topic 'x'", "host:1")
    assert error.code == "kafka-not-ready"
    assert "fenced" in error.message
    few = KafkaException(KafkaError(code, "only 1 broker(s) are registered"))
    assert not is_transient(few)
    assert explained(few, "create topic 'x'", "host:1").code == "kafka-refused"


def test_missing_topic_is_an_answer_and_not_waited_for() -> None:
    """A running application waits for its topic; a question about a topic is answered at once."""
    assert not is_transient(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)))


def test_error_of_a_request_keeps_its_verdict() -> None:
    """The runtime decides by the table, whether a client or an Admin failed."""
    lost = KafkaException(KafkaError(KafkaError._TRANSPORT))
    forbidden = KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    for failure, expected in ((lost, Verdict.WAIT), (forbidden, Verdict.FORBIDDEN)):
        assert verdict_of(failure) is verdict_of(explained(failure, "x", "h:1")) is expected
    assert verdict_of(topic_differs("t", 2, 4)) is Verdict.FATAL


def test_call_that_timed_out_names_what_the_client_reported() -> None:
    """librdkafka reports a wrong password beside the call, which only times out."""
    reported = ReportedErrors()
    reported(
        KafkaError(KafkaError._TRANSPORT, "ssl://h:1/bootstrap: refused (after 3ms in state X)")
    )
    reported(KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"))
    timed_out = KafkaException(KafkaError(KafkaError._TIMED_OUT))
    error = explained(timed_out, "list topics", "h:1", reported=reported)
    assert error.message == "cannot list topics: no answer from h:1 (h:1: refused)"
    reported(
        KafkaError(
            KafkaError._AUTHENTICATION, "sasl_ssl://h:1/bootstrap: no (after 3ms in state X)"
        )
    )
    error = explained(timed_out, "list topics", "h:1", reported=reported, user="ann")
    assert error.code == "not-allowed"
    assert error.message == "cannot list topics: the broker at h:1 refused user 'ann': no"
    reported.clear()
    assert explained(timed_out, "x", "h:1", reported=reported).code == "broker-unreachable"


def test_unknown_topic_suggests_the_nearest() -> None:
    """Most unknown names are typing errors."""
    assert "did you mean 'orders'?" in str(unknown_topic("ordrs", ["orders", "users"]))
    assert "did you mean" not in str(unknown_topic("zzz", ["orders"]))


def test_errors_pass_between_processes() -> None:
    """A Spark task hands its error to the driver."""
    for error in (unknown_partition("t", 9, 4), topic_differs("t", 2, 4)):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error)
        assert str(copy) == str(error)
