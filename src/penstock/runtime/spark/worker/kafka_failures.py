"""Errors of Kafka's clients as the product's own, by the one table of what they mean."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from penstock.errors import StreamsError
from penstock.kafka.error_table import Verdict, reason, verdict

#: The code of the error that each verdict becomes; ``driver.failures`` knows them all.
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
    """Return an error of ours for one of a Kafka client; any other as it is."""
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
