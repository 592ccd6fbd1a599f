"""What a running application does about an error: a declared remedy for every code.

A test refuses a code of the runtime, its stores or its clients that is not declared here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Remedy(Enum):
    """What the driver does about an error."""

    #: Kafka, Spark or a machine failed, not the program: wait, then run the same batch again.
    RERUN = "the batch runs again"
    #: The state of this driver is out of date: begin again with what is committed in Kafka.
    BEGIN_ANEW = "the application begins again from what is committed"
    #: The user has decided already, in another instance.
    END = "the application ends"
    #: Only the user can decide.
    ASK = "the uncaught exception handler decides"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What is known about an error code."""

    remedy: Remedy = Remedy.ASK
    #: Whether ``task.timeout.ms`` limits the waiting. Without it nothing is wrong with the program.
    has_limit: bool = True
    #: Whether it is probably a wrong login if it is the first answer of Kafka.
    is_setup: bool = False
    #: Whether Kafka did not take a commit in time. The next batch is smaller.
    is_slow_commit: bool = False
    #: Whether the databases of the task take nothing more until they are opened again.
    reopens_stores: bool = False
    #: Whether a question to a store that fails with it may be asked again in a moment.
    is_momentary: bool = False
    #: Whether no Spark job of this session can run stream threads any more.
    ends_jobs: bool = False


_ASK = Declared()
_RERUN = Declared(remedy=Remedy.RERUN)
_ANEW = Declared(remedy=Remedy.BEGIN_ANEW)
_UNLIMITED = Declared(remedy=Remedy.RERUN, has_limit=False)
_MOMENTARY = Declared(is_momentary=True)


def _all(declared: Declared, codes: str) -> dict[str, Declared]:
    return dict.fromkeys(codes.split(), declared)


REMEDIES: Final[dict[str, Declared]] = {
    # Kafka is away, slow, or not ready.
    **_all(_UNLIMITED, "broker-unreachable kafka-not-ready batch-log"),
    "broker-away": Declared(remedy=Remedy.RERUN, has_limit=False, is_slow_commit=True),
    "client-renewed": Declared(remedy=Remedy.RERUN, is_slow_commit=True),
    "write-failed": Declared(remedy=Remedy.RERUN, is_slow_commit=True),
    **_all(_RERUN, "group-in-use open-transaction read-failed read-timeout refusal-noticed"),
    **_all(_RERUN, "registry-login registry-unavailable"),
    # The rows of a table wait in their topic; no batch waits for them.
    **_all(_RERUN, "lake-unavailable"),
    # Rights are given and taken while an application runs.
    "not-allowed": Declared(remedy=Remedy.RERUN, has_limit=False, is_setup=True),
    "tls-failed": Declared(remedy=Remedy.RERUN, is_setup=True),
    # Spark, its executors and their disks.
    **_all(_RERUN, "spark-job stale-request worker-failed store-locked"),
    **_all(Declared(remedy=Remedy.RERUN, is_momentary=True), "slot-unreachable worker-lost"),
    **_all(Declared(remedy=Remedy.RERUN, reopens_stores=True), "disk-full store-damaged"),
    "store-write-failed": Declared(reopens_stores=True),
    **_all(Declared(ends_jobs=True), "executor-setup spark-lost"),
    # A deleted topic of a pattern is left out from then on, and one that was created again may
    # have fewer partitions. A source that is missing by name is refused when the application
    # begins again.
    **_all(_ANEW, "fenced not-leading offset-out-of-range partitions-changed"),
    **_all(_ANEW, "unknown-partition unknown-topic"),
    "application-shut-down": Declared(remedy=Remedy.END),
    # Questions to stores. They reach no batch.
    **_all(_MOMENTARY, "copy-catching-up not-running rows-overwritten store-not-copied"),
    **_all(_MOMENTARY, "store-not-ready"),
    **_all(_ASK, "batch-gone batch-not-there cut-is-over no-changelog not-started"),
    **_all(_ASK, "not-up-to-bound partition-moving read-only-store read-stopped store-elsewhere"),
    **_all(_ASK, "no-partition too-slow topic-gone unknown-query unknown-store wrong-store-type"),
    # What a program does with records.
    **_all(_ASK, "batch-failed batch-result deserialization exception-handler init close"),
    **_all(_ASK, "invalid-timestamp kafka-refused missing-topic not-a-pair not-a-record"),
    **_all(_ASK, "not-iterable null-argument null-key null-result null-value partitioner"),
    **_all(_ASK, "record-refused serialization store-serde-mismatch suppress-buffer-full"),
    **_all(_ASK, "timestamp-extractor to-spark topic-extractor user-function"),
    **_all(_ASK, "bad-lake-mode bad-lake-table lake-table missing-extra same-view"),
    **_all(_ASK, "bad-interval bad-prefix bad-store-argument forward-not-allowed"),
    **_all(_ASK, "forward-out-of-scope global-store-read-only iterator-closed"),
    **_all(_ASK, "iterator-exhausted store-closed store-operation-unsupported unknown-child"),
    **_all(_ASK, "duplicate-metric unknown-recording-level unknown-stat"),
    **_all(_ASK, "invalid-schema schema-id-taken unknown-schema"),
    # Stores that cannot be used as they are.
    **_all(_ASK, "cache-entry-dirty cache-exists state-folder-owner store-open-failed"),
    **_all(_ASK, "store-read-failed store-set-aside-failed"),
    # Programs, settings and topics that do not fit, found when an application starts.
    **_all(_ASK, "already-started bad-client-setting bad-duration bad-login bad-option"),
    **_all(_ASK, "bad-processor bad-processor-wrapper bad-registry-setting"),
    **_all(_ASK, "bad-rocksdb-config-setter bad-rocksdb-option bad-setting bad-state-dir"),
    **_all(_ASK, "bad-supplier-stores bad-ttl bad-window closed-early co-partitioning"),
    **_all(_ASK, "grace-needs-versioned-table instance-id-in-use internal-topic-lost"),
    **_all(_ASK, "java-key-store java-trust-store missing-dead-letter-topic missing-option"),
    **_all(_ASK, "missing-processor missing-serde missing-setting missing-source-topic"),
    **_all(_ASK, "missing-transformer never-run no-core-left no-executors no-offset"),
    **_all(_ASK, "no-process no-schema-registry not-portable old-spark other-topology"),
    **_all(_ASK, "partition-count partition-count-changed registry-client-missing"),
    **_all(_ASK, "repartition-topics single-processor spark-start state-locked still-running"),
    **_all(_ASK, "store-cannot-hold-table store-not-versioned store-retention-too-short"),
    **_all(_ASK, "table-not-readable table-not-versioned topic-cycle topic-exists"),
    **_all(_ASK, "transformed-table-not-stored unknown-group unknown-rocksdb-option"),
    **_all(_ASK, "wrong-arity wrong-supplier"),
}


def declared(error: BaseException) -> Declared:
    """Return what is known about an error; the handler decides about codes of the user's own."""
    return REMEDIES.get(getattr(error, "code", ""), _ASK)


def remedy(error: BaseException) -> Remedy:
    """Return what the driver does about an error."""
    return declared(error).remedy
