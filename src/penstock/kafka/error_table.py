"""The table of Kafka's errors: what Penstock does about each error code, and why.

``docs/reference/kafka-errors.md`` is generated from it. The texts for users are in
``penstock.kafka.admin_failures``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from confluent_kafka import KafkaError


class Verdict(Enum):
    """What Penstock does about an error. The value is the sentence of the reference page."""

    IGNORE = "nothing: it is not a failure"
    WAIT = "waits, then runs the batch again"
    RENEW = "makes a new client, then runs the batch again"
    FORBIDDEN = "fails at the start; later it waits until the right is back"
    RECORD = "asks the production exception handler about the record"
    OFFSETS = "follows `auto.offset.reset`"
    FATAL = "fails with this error"


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """One error code. ``reason`` completes "Penstock waits because …" and stands alone."""

    name: str
    verdict: Verdict
    reason: str

    @property
    def code(self) -> int:
        return int(getattr(KafkaError, self.name))


_IGNORE = {
    "NO_ERROR": "the request succeeded",
    "ELECTION_NOT_NEEDED": "the partition has the wanted leader already",
    "TELEMETRY_TOO_LARGE": "the broker does not take the metrics of this client",
    "UNKNOWN_SUBSCRIPTION_ID": "the broker asks for other metrics of this client",
    "_ASSIGN_PARTITIONS": "a group gave partitions to this client",
    "_NODE_UPDATE": "a broker changed its address",
    "_NOOP": "there was nothing to do",
    "_PARTITION_EOF": "the end of the partition is reached",
    "_REVOKE_PARTITIONS": "a group took partitions from this client",
}

_WAIT = {
    # No connection, or no answer in time.
    "_ALL_BROKERS_DOWN": "no broker can be reached",
    "_DESTROY_BROKER": "the broker left the cluster",
    "_FAIL": "the connection to the broker failed",
    "_INTR": "the request was interrupted",
    "_MSG_TIMED_OUT": "no broker took the record in time",
    "_RESOLVE": "the broker's host name cannot be resolved",
    "_TIMED_OUT": "the cluster did not answer in time",
    "_TIMED_OUT_QUEUE": "the request could not be sent in time",
    "_TRANSPORT": "the connection to the broker is lost",
    "_UNKNOWN_BROKER": "the broker is not known yet",
    "BROKER_NOT_AVAILABLE": "the broker cannot be reached",
    "LISTENER_NOT_FOUND": "the broker that leads the partition has no address for this client yet",
    "NETWORK_EXCEPTION": "the broker closed the connection before it answered",
    "REQUEST_TIMED_OUT": "the broker did not finish the request in time",
    # The broker that answers is another one now, or is not ready yet.
    "COORDINATOR_LOAD_IN_PROGRESS": "the coordinator of the group or transaction is starting",
    "COORDINATOR_NOT_AVAILABLE": "the coordinator of the group or transaction cannot be reached",
    "ELIGIBLE_LEADERS_NOT_AVAILABLE": "no replica of the partition can become its leader",
    "FENCED_LEADER_EPOCH": "the partition has got a new leader",
    "FETCH_SESSION_ID_NOT_FOUND": "the broker forgot the fetch session of this client",
    "INCONSISTENT_TOPIC_ID": "the topic was deleted and made again",
    "INVALID_FETCH_SESSION_EPOCH": "the fetch session of this client has to begin again",
    "KAFKA_STORAGE_ERROR": "the broker's disk failed; another broker has to take the partition",
    "LEADER_NOT_AVAILABLE": "the partition has no leader at the moment",
    "NOT_CONTROLLER": "the cluster has got a new controller",
    "NOT_COORDINATOR": "the coordinator of the group or transaction has moved",
    "NOT_LEADER_FOR_PARTITION": "the leader of the partition cannot be reached, or has changed",
    "OFFSET_NOT_AVAILABLE": "the new leader does not know the end of the partition yet",
    "PREFERRED_LEADER_NOT_AVAILABLE": "the preferred leader of the partition cannot be reached",
    "REASSIGNMENT_IN_PROGRESS": "the partition is being moved to other brokers",
    "REPLICA_NOT_AVAILABLE": "the replica of the partition cannot be reached",
    "STALE_BROKER_EPOCH": "the broker was started again",
    "STALE_CTRL_EPOCH": "the cluster has got a new controller",
    "TRANSACTION_COORDINATOR_FENCED": "the coordinator of the transaction has moved",
    "UNKNOWN": "the broker failed on the request; its own log has the reason",
    "UNKNOWN_LEADER_EPOCH": "the broker has not heard of the partition's new leader yet",
    "UNKNOWN_TOPIC_ID": "the broker has not heard of the topic yet, or it was deleted",
    "UNKNOWN_TOPIC_OR_PART": "the broker has not heard of the topic yet, or it was deleted",
    "_OUTDATED": "the cluster has changed since the request was made",
    "_UNKNOWN_PARTITION": "the partition is not known yet, or its topic was deleted",
    "_UNKNOWN_TOPIC": "the topic is not known yet, or it was deleted",
    "_WAIT_CACHE": "the client has not learned about the topic yet",
    "_WAIT_COORD": "the coordinator of the group or transaction is being looked for",
    # Too few replicas, or too much traffic.
    "NOT_ENOUGH_REPLICAS": "too few replicas of the partition are in sync (min.insync.replicas)",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "too few replicas of the partition have the record yet",
    "THROTTLING_QUOTA_EXCEEDED": "the cluster's quota for this client is used up for the moment",
    "_ISR_INSUFF": "too few replicas of the partition are in sync",
    "_QUEUE_FULL": "the client's own queue is full until the cluster takes records",
    # Something else has to end first.
    "CONCURRENT_TRANSACTIONS": "the producer's last transaction is still being ended",
    "MEMBER_ID_REQUIRED": "the coordinator wants the member to join again with its id",
    "OPERATION_NOT_ATTEMPTED": "another part of the same request failed, so nothing was tried",
    "REBALANCE_IN_PROGRESS": "the group is being rebalanced",
    "UNRELEASED_INSTANCE_ID": "the last member with this group.instance.id has not left yet",
    "UNSTABLE_OFFSET_COMMIT": "a transaction that holds offsets of the group is not ended yet",
    "_BAD_MSG": "an answer of the broker arrived damaged and is asked for again",
    "_INVALID_DIFFERENT_RECORD": "the broker refused another record of the same request",
    "_IN_PROGRESS": "the same request is still under way",
    "_NOENT": "no partition of the topic has a leader right now",
    "_PARTIAL": "only a part of the answer arrived",
    "_PREV_IN_PROGRESS": "an earlier request is still under way",
    "_PURGE_INFLIGHT": "the record was on its way when its transaction was aborted",
    "_PURGE_QUEUE": "the record was not sent before its transaction was aborted",
    "_RETRY": "the client asks to try again",
    "_STATE": "the client is not in the state for this request yet",
    "_UNDERFLOW": "an answer of the broker was cut short and is asked for again",
}

_RENEW = {
    "DUPLICATE_SEQUENCE_NUMBER": "the broker has the producer's record already",
    "FENCED_INSTANCE_ID": "another member joined with the same group.instance.id",
    "FENCED_MEMBER_EPOCH": "the coordinator gave the member's place to another one",
    "GROUP_ID_NOT_FOUND": "the group was deleted; a new client makes it again",
    "ILLEGAL_GENERATION": "the group went on without this member",
    "INVALID_PRODUCER_EPOCH": "the broker ended the transaction, or a newer producer took its id",
    "INVALID_PRODUCER_ID_MAPPING": "the broker forgot the producer's id (transactional.id expired)",
    "INVALID_TXN_STATE": "the broker has the transaction in another state than the producer",
    "OUT_OF_ORDER_SEQUENCE_NUMBER": "an earlier record of the producer did not arrive",
    "PRODUCER_FENCED": "a newer producer has the same transactional.id",
    "REBOOTSTRAP_REQUIRED": "all brokers that the client knows have been replaced",
    "STALE_MEMBER_EPOCH": "the group went on without this member",
    "TRANSACTION_ABORTABLE": "the broker asks to abort the transaction",
    "UNKNOWN_MEMBER_ID": "the coordinator removed the member from the group",
    "UNKNOWN_PRODUCER_ID": "the broker has deleted all records of the producer, and its state",
    "_ASSIGNMENT_LOST": "the group went on without this member",
    "_CONFLICT": "an earlier call of the client, such as a commit, is not over yet",
    "_DESTROY": "the client is closed",
    "_FATAL": "the client cannot be used any more",
    "_FENCED": "a newer client with the same id took over",
    "_GAPLESS_GUARANTEE": "a lost record would leave a gap in the producer's sequence",
    "_INCONSISTENT": "the client's state contradicts the broker's answer",
    "_MAX_POLL_EXCEEDED": "the consumer was not polled within max.poll.interval.ms",
}

_FORBIDDEN = {
    "CLUSTER_AUTHORIZATION_FAILED": "the user has no right to this operation on the cluster",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": "the user has no right to the delegation token",
    "DELEGATION_TOKEN_AUTH_DISABLED": "the cluster does not accept delegation tokens",
    "DELEGATION_TOKEN_EXPIRED": "the delegation token has expired",
    "DELEGATION_TOKEN_NOT_FOUND": "the cluster does not know the delegation token",
    "DELEGATION_TOKEN_OWNER_MISMATCH": "the delegation token belongs to another user",
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": "this connection may not ask for delegation tokens",
    "GROUP_AUTHORIZATION_FAILED": "the user has no right to the consumer group",
    "ILLEGAL_SASL_STATE": "the broker expects another step of the login",
    "PRINCIPAL_DESERIALIZATION_FAILURE": "the controller cannot tell who the user is",
    "SASL_AUTHENTICATION_FAILED": "the broker refused user or password",
    "TOPIC_AUTHORIZATION_FAILED": "the user has no right to the topic",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": "the user has no right to the transactional.id",
    "UNSUPPORTED_SASL_MECHANISM": "the broker does not offer this sasl.mechanism",
    "_AUTHENTICATION": "the broker refused user or password",
    "_SSL": "the TLS connection could not be made: certificate, key or protocol do not fit",
}

_RECORD = {
    "INVALID_MSG": "the broker finds the record damaged, or it has no key for a compacted topic",
    "INVALID_RECORD": "the broker finds the record invalid",
    "INVALID_TIMESTAMP": "the record's timestamp is outside of what the topic accepts",
    "MSG_SIZE_TOO_LARGE": "the record is larger than the topic's max.message.bytes",
    "RECORD_LIST_TOO_LARGE": "the records of one request are larger than a segment of the topic",
    "_KEY_DESERIALIZATION": "the record's key cannot be decoded",
    "_KEY_SERIALIZATION": "the record's key cannot be encoded",
    "_VALUE_DESERIALIZATION": "the record's value cannot be decoded",
    "_VALUE_SERIALIZATION": "the record's value cannot be encoded",
}

_OFFSETS = {
    "OFFSET_OUT_OF_RANGE": "the offset has been deleted, or was never written",
    "_AUTO_OFFSET_RESET": "the offset is gone and auto.offset.reset is none",
    "_LOG_TRUNCATION": "the partition lost its end, and with it the offset",
    "_NO_OFFSET": "the group has no offset for the partition",
}

_FATAL = {
    "DUPLICATE_RESOURCE": "the request names the same thing twice",
    "DUPLICATE_VOTER": "the controller is a voter already",
    "FEATURE_UPDATE_FAILED": "the cluster could not change its features",
    "FENCED_STATE_EPOCH": "the share group has newer state; Penstock uses no share groups",
    "GROUP_MAX_SIZE_REACHED": "the group has as many members as the cluster allows",
    "GROUP_SUBSCRIBED_TO_TOPIC": "the group still reads the topic",
    "INCONSISTENT_GROUP_PROTOCOL": "other members of the group use another protocol",
    "INCONSISTENT_VOTER_SET": "the controllers do not agree on the voters",
    "INVALID_COMMIT_OFFSET_SIZE": "the broker does not take the offsets in this form",
    "INVALID_CONFIG": "the broker does not take this setting or value",
    "INVALID_GROUP_ID": "the application.id is not a valid group.id",
    "INVALID_MSG_SIZE": "the fetch size is not valid",
    "INVALID_PARTITIONS": "the number of partitions is not valid",
    "INVALID_PRINCIPAL_TYPE": "the broker does not know this kind of principal",
    "INVALID_RECORD_STATE": "the share group has the record in another state",
    "INVALID_REGISTRATION": "the controller does not accept the broker",
    "INVALID_REGULAR_EXPRESSION": "the pattern of topics is not a valid regular expression",
    "INVALID_REPLICATION_FACTOR": "there are fewer brokers than replicas asked for",
    "INVALID_REPLICA_ASSIGNMENT": "the replicas cannot be placed as asked for",
    "INVALID_REQUEST": "the broker cannot make sense of the request",
    "INVALID_REQUIRED_ACKS": "acks has a value that the broker does not take",
    "INVALID_SESSION_TIMEOUT": "session.timeout.ms is outside of what the broker accepts",
    "INVALID_SHARE_SESSION_EPOCH": "the share session has to begin again",
    "INVALID_TRANSACTION_TIMEOUT": "transaction.timeout.ms is above the broker's limit",
    "INVALID_UPDATE_VERSION": "the cluster's features have another version",
    "INVALID_VOTER_KEY": "the controller has another key",
    "LOG_DIR_NOT_FOUND": "the broker has no such log folder",
    "MISMATCHED_ENDPOINT_TYPE": "the address is that of a controller, not of a broker",
    "NON_EMPTY_GROUP": "the group has members",
    "NO_REASSIGNMENT_IN_PROGRESS": "no partition is being moved",
    "OFFSET_METADATA_TOO_LARGE": "the text beside the offset is longer than the broker allows",
    "POLICY_VIOLATION": "the cluster's policy forbids it",
    "RESOURCE_NOT_FOUND": "the cluster does not have what the request names",
    "SECURITY_DISABLED": "the cluster has no authorizer, so it has no ACLs",
    "SHARE_SESSION_LIMIT_REACHED": "the broker has as many share sessions as it allows",
    "SHARE_SESSION_NOT_FOUND": "the broker does not know the share session",
    "STREAMS_INVALID_TOPOLOGY": "the broker does not accept the topology of the streams group",
    "STREAMS_INVALID_TOPOLOGY_EPOCH": "the topology of the streams group has another epoch",
    "STREAMS_TOPOLOGY_FENCED": "the streams group has a newer topology",
    "TOPIC_ALREADY_EXISTS": "the topic exists",
    "TOPIC_DELETION_DISABLED": "the cluster forbids deleting topics",
    "TOPIC_EXCEPTION": "the topic's name is not valid, or the topic cannot be written to",
    "UNACCEPTABLE_CREDENTIAL": "the cluster does not take this user name or password",
    "UNKNOWN_CONTROLLER_ID": "the cluster does not know the controller",
    "UNSUPPORTED_ASSIGNOR": "the broker does not know the group's assignor",
    "UNSUPPORTED_COMPRESSION_TYPE": "the broker does not know compression.type",
    "UNSUPPORTED_ENDPOINT_TYPE": "the broker does not know this kind of address",
    "UNSUPPORTED_FOR_MESSAGE_FORMAT": "the topic's message format is too old for the request",
    "UNSUPPORTED_VERSION": "the broker is too old for the request",
    "VOTER_NOT_FOUND": "the cluster does not know the voter",
    "_APPLICATION": "the program stopped the client",
    "_BAD_COMPRESSION": "the records cannot be decompressed",
    "_CRIT_SYS_RESOURCE": "the machine is out of memory, threads or open files",
    "_EXISTING_SUBSCRIPTION": "the consumer has a subscription already",
    "_FS": "a file cannot be read or written",
    "_INVALID_ARG": "a setting or argument is not valid",
    "_INVALID_TYPE": "an argument has the wrong type",
    "_NOT_CONFIGURED": "the client is not configured for this request",
    "_NOT_IMPLEMENTED": "the client cannot do this",
    "_READ_ONLY": "the object cannot be changed",
    "_UNKNOWN_GROUP": "the client has no group",
    "_UNKNOWN_PROTOCOL": "the client does not know the protocol",
    "_UNSUPPORTED_FEATURE": "the broker is too old for what the client needs",
}

#: Every error, in the order of the reference page.
ROWS: tuple[ErrorRow, ...] = tuple(
    ErrorRow(name, verdict, reason)
    for verdict, reasons in (
        (Verdict.WAIT, _WAIT),
        (Verdict.RENEW, _RENEW),
        (Verdict.FORBIDDEN, _FORBIDDEN),
        (Verdict.RECORD, _RECORD),
        (Verdict.OFFSETS, _OFFSETS),
        (Verdict.FATAL, _FATAL),
        (Verdict.IGNORE, _IGNORE),
    )
    for name, reason in sorted(reasons.items())
)

_BY_CODE = {row.code: row for row in ROWS}


def verdict(error: KafkaError | int) -> Verdict:
    """Return what Penstock does about an error or an error code.

    After a fatal error, every call of the client fails, so waiting would never end: WAIT becomes
    RENEW. A code that is not in the table comes from a newer librdkafka; the flags of the error
    decide then.

    >>> verdict(KafkaError.NOT_COORDINATOR)
    <Verdict.WAIT: 'waits, then runs the batch again'>
    """
    row = _BY_CODE.get(_code(error))
    found = row.verdict if row is not None else _by_flags(error)
    if found is Verdict.WAIT and not isinstance(error, int) and error.fatal():
        return Verdict.RENEW
    return found


def reason(error: KafkaError | int) -> str:
    """Return in plain words what an error means, such as what is being waited for.

    >>> reason(KafkaError.LEADER_NOT_AVAILABLE)
    'the partition has no leader at the moment'
    """
    row = _BY_CODE.get(_code(error))
    if row is not None:
        return row.reason
    text = "" if isinstance(error, int) else f": {error.str()}"
    return f"Kafka's error {_code(error)} is not known here{text}"


def _code(error: KafkaError | int) -> int:
    return error if isinstance(error, int) else int(error.code())


def _by_flags(error: KafkaError | int) -> Verdict:
    if isinstance(error, int):
        return Verdict.FATAL
    if error.retriable():
        return Verdict.WAIT
    return Verdict.RENEW if error.txn_requires_abort() else Verdict.FATAL
