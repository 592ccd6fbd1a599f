"""Turn errors of Kafka's clients into Penstock's errors, by ``kafka/error_table.py``."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import StreamsError
from penstock.kafka.error_table import Verdict, reason, verdict
from penstock.kafka.refusals import hidden_failure

#: The error code for each verdict. ``driver.failures`` decides what to do for each code.
CODES = {
    Verdict.IGNORE: "broker-away",
    Verdict.WAIT: "broker-away",
    Verdict.RENEW: "client-renewed",
    Verdict.FORBIDDEN: "not-allowed",
    Verdict.RECORD: "record-refused",
    Verdict.OFFSETS: "offset-out-of-range",
    Verdict.FATAL: "kafka-refused",
}
_FIXES = {
    Verdict.WAIT: "check the broker; the batch runs again when it is back",
    Verdict.RENEW: "nothing to do: the batch runs again with a new client",
    Verdict.FORBIDDEN: "give the application's user the right, or correct its password",
    Verdict.RECORD: "set max.message.bytes of the topic and max.request.size of the producer",
}


def as_streams_error(error: BaseException) -> BaseException:
    """Return Penstock's error for an error of a Kafka client; return any other unchanged."""
    hidden = hidden_failure(error)
    if hidden is not None:
        error = hidden
    if not isinstance(error, KafkaException):
        return error
    cause = error.args[0] if error.args else None
    if not isinstance(cause, KafkaError):
        return StreamsError("broker-away", f"a call to Kafka failed: {error}")
    found = verdict(cause)
    failure = StreamsError(
        CODES[found], f"{reason(cause)}: {cause.str()} ({cause.name()})", fix=_FIXES.get(found)
    )
    failure.__cause__ = error
    return failure
