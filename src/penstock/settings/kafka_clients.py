"""Settings of Kafka's clients that hold for all of them; prefixes reach single ones."""

from __future__ import annotations

from penstock.setting import Setting, anything, at_least, integer, one_of

_WHOLE_BATCH = "A batch is read as a whole; penstock.max.batch.records limits it."

BUFFERED_RECORDS = Setting(
    "buffered.records.per.partition",
    at_least(1),
    1_000,
    "Records read ahead per partition.",
    unused=_WHOLE_BATCH,
)
POLL_MS = Setting(
    "poll.ms", at_least(0), 100, "How long reading waits for input.", unused=_WHOLE_BATCH
)
REQUEST_TIMEOUT_MS = Setting(
    "request.timeout.ms", at_least(0), 40_000, "How long clients wait for an answer."
)
DEFAULT_API_TIMEOUT_MS = Setting(
    "default.api.timeout.ms",
    at_least(1),
    60_000,
    "How long one call to Kafka may take, with all its retries.",
)
RETRY_BACKOFF_MS = Setting(
    "retry.backoff.ms",
    at_least(0),
    100,
    "Pause before a failed request or a failed batch is tried again; it doubles each time.",
)
RETRY_BACKOFF_MAX_MS = Setting(
    "retry.backoff.max.ms", at_least(0), 1_000, "Longest pause before a retry."
)
RECONNECT_BACKOFF_MS = Setting(
    "reconnect.backoff.ms",
    at_least(0),
    50,
    "Pause before a client connects again to a broker that it lost; it doubles each time.",
)
RECONNECT_BACKOFF_MAX_MS = Setting(
    "reconnect.backoff.max.ms", at_least(0), 1_000, "Longest pause before connecting again."
)
CONNECTIONS_MAX_IDLE_MS = Setting(
    "connections.max.idle.ms", integer, 540_000, "Idle connections are closed after this time."
)
METADATA_MAX_AGE_MS = Setting(
    "metadata.max.age.ms",
    at_least(0),
    300_000,
    "How often topics and partitions are looked up again.",
)
METADATA_RECOVERY_STRATEGY = Setting(
    "metadata.recovery.strategy",
    one_of("none", "rebootstrap"),
    "rebootstrap",
    "What clients do when they lose all brokers: rebootstrap asks bootstrap.servers again.",
)
METADATA_RECOVERY_TRIGGER_MS = Setting(
    "metadata.recovery.rebootstrap.trigger.ms",
    at_least(0),
    300_000,
    "After this time without news of the cluster, clients ask bootstrap.servers again.",
)
RECEIVE_BUFFER_BYTES = Setting(
    "receive.buffer.bytes", at_least(-1), 32_768, "TCP receive buffer of clients."
)
SEND_BUFFER_BYTES = Setting(
    "send.buffer.bytes", at_least(-1), 131_072, "TCP send buffer of clients."
)
SECURITY_PROTOCOL = Setting(
    "security.protocol",
    one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "PLAINTEXT",
    "How clients talk to brokers.",
)
MAX_POLL_RECORDS = Setting(
    "max.poll.records",
    at_least(1),
    1_000,
    "Records taken from the reader at once.",
    unused=_WHOLE_BATCH,
)
FETCH_MAX_BYTES = Setting("fetch.max.bytes", at_least(0), 52_428_800, "Most bytes per fetch.")
TRANSACTION_TIMEOUT_MS = Setting(
    "transaction.timeout.ms",
    at_least(1),
    60_000,
    "A transaction that is open longer is aborted by the broker.",
)
AUTO_OFFSET_RESET = Setting(
    "auto.offset.reset",
    one_of("earliest", "latest", "none"),
    "earliest",
    "Where a new application starts to read.",
)
DEFAULT_CLIENT_SUPPLIER = Setting(
    "default.client.supplier",
    anything,
    None,
    "Makes the Kafka clients.",
    unused="The clients are librdkafka's; consumer., producer. and admin. settings reach them.",
)
WINDOWED_INNER_SERDE = Setting(
    "windowed.inner.class.serde",
    anything,
    None,
    "Inner serde of windowed keys for plain consumers.",
    unused="It is for plain consumers; a windowed serde names its inner serde itself.",
)
WINDOW_SIZE_MS = Setting(
    "window.size.ms",
    at_least(1),
    1,
    "Window size for plain consumers of windowed keys.",
    unused="It is for plain consumers; a windowed serde is made with its window size.",
)
