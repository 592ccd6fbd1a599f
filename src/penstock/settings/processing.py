"""Settings of processing: names, serdes, handlers, guarantees, batches."""

from __future__ import annotations

from penstock.setting import (
    Setting,
    anything,
    at_least,
    boolean,
    guarantee,
    integer,
    older_name,
    one_of,
    optional_text,
    part_of_topics,
    text,
)

APPLICATION_ID = Setting(
    "application.id",
    part_of_topics,
    "",
    "Group id, prefix of internal topics and folder of local state.",
)
BOOTSTRAP_SERVERS = Setting(
    "bootstrap.servers", anything, None, "Kafka brokers; without them a private broker is started."
)
CLIENT_ID = Setting("client.id", text, "", "Prefix of the client ids of consumers and producers.")
DEFAULT_KEY_SERDE = Setting(
    "default.key.serde",
    anything,
    "string",
    "Serde of keys for operations that name no serde, before what functions say about their"
    " results; with None every operation must name one.",
)
DEFAULT_VALUE_SERDE = Setting(
    "default.value.serde",
    anything,
    "string",
    "Serde of values for operations that name no serde, before what functions say about their"
    " results; with None every operation must name one.",
)
DEFAULT_TIMESTAMP_EXTRACTOR = Setting(
    "default.timestamp.extractor",
    anything,
    None,
    "Where event time comes from: a callable (record, partition_time) -> ms.",
)
DESERIALIZATION_HANDLER = Setting(
    "deserialization.exception.handler",
    anything,
    "fail",
    "What happens to records that cannot be decoded: fail, continue or a callable.",
)
PROCESSING_HANDLER = Setting(
    "processing.exception.handler",
    anything,
    "fail",
    "What happens to records that a node fails on: fail, continue or a callable.",
)
PROCESSING_HANDLER_GLOBAL = Setting(
    "processing.exception.handler.global.enabled",
    boolean,
    False,
    "Whether processing.exception.handler is also called for global stores and tables.",
)
PRODUCTION_HANDLER = Setting(
    "production.exception.handler",
    anything,
    "fail",
    "What happens to records that cannot be written: fail, continue or a callable.",
)
DEFAULT_DESERIALIZATION_HANDLER = older_name(
    "default.deserialization.exception.handler", DESERIALIZATION_HANDLER
)
DEFAULT_PRODUCTION_HANDLER = older_name("default.production.exception.handler", PRODUCTION_HANDLER)
DEAD_LETTER_TOPIC = Setting(
    "errors.dead.letter.queue.topic.name",
    optional_text,
    None,
    "Topic that receives failed records with the reason in their headers.",
)
PROCESSING_LOG = Setting(
    "__processing.log__",
    anything,
    None,
    "Set by the SQL engine: how the tasks of a query write to its processing log.",
)
PROCESSING_GUARANTEE = Setting(
    "processing.guarantee",
    guarantee,
    "at_least_once",
    "at_least_once, or exactly_once_v2 for one transaction per commit.",
)
COMMIT_INTERVAL_MS = Setting(
    "commit.interval.ms",
    at_least(0),
    100,
    "How often offsets, state and output of a slot become visible together: a batch is a commit.",
)
NUM_STREAM_THREADS = Setting(
    "num.stream.threads",
    at_least(1),
    1,
    "How many tasks run at the same time. Each stream thread is a Spark task that stays, and holds"
    " a core.",
)
SLOT_POOL = Setting(
    "penstock.slot.pool",
    text,
    "",
    "Applications of one process with the same value share stream threads, which suits many small"
    " ones. If it is empty, an application has its own.",
)
REPLICATION_FACTOR = Setting(
    "replication.factor", integer, -1, "Replicas of internal topics; -1 leaves it to the broker."
)
VECTORIZE = Setting(
    "penstock.vectorize",
    one_of("auto", "on", "strict", "off"),
    "auto",
    "Which batches run built-in operations and expressions over columns, with the same results:"
    " auto (those for which that costs less, as tasks measure), on (all), strict (all, and an error"
    " in that code is raised: for tests) or off.",
)
REPARTITION_FORMAT = Setting(
    "penstock.repartition.format",
    one_of("columns", "records"),
    "columns",
    "How records travel through repartition topics: columns (many in one Kafka record, fast) or"
    " records (each by itself, as Java writes and reads them).",
)
TOPOLOGY_OPTIMIZATION = Setting(
    "topology.optimization",
    text,
    "none",
    "none, all, or a list of reuse.ktable.source.topics, merge.repartition.topics and"
    " single.store.self.join.",
)
EXPLICIT_NAMING = Setting(
    "ensure.explicit.internal.resource.naming",
    boolean,
    False,
    "Refuses topologies with generated names of stores or internal topics.",
)
PROCESSOR_WRAPPER = Setting(
    "processor.wrapper.class", anything, None, "A ProcessorWrapper, which wraps every processor."
)
MAX_TASK_IDLE_MS = Setting(
    "max.task.idle.ms",
    at_least(-1),
    0,
    "How long a task waits for inputs that have no data, to keep their records in order of time.",
)
TASK_TIMEOUT_MS = Setting(
    "task.timeout.ms",
    at_least(0),
    300_000,
    "How long a slot tries its batch again, without progress, before the uncaught exception handler"
    " is asked. While Kafka itself is away there is no limit.",
)
REPARTITION_PURGE_INTERVAL_MS = Setting(
    "repartition.purge.interval.ms",
    at_least(0),
    30_000,
    "How often consumed repartition data is deleted.",
)
MAX_BATCH_RECORDS = Setting(
    "penstock.max.batch.records",
    at_least(1),
    300_000,
    "Most records that one batch of a slot takes from all its source partitions together; while"
    " there is a backlog, a batch takes what about two seconds allow.",
)
LAKE_COMMIT_INTERVAL_MS = Setting(
    "penstock.lake.commit.interval.ms",
    at_least(0),
    60_000,
    "Least time between two versions of a table that ``to_lake`` writes. Each version has a file"
    " for every task that has rows for it.",
)
LAKE_COMPACT_VERSIONS = Setting(
    "penstock.lake.compact.versions",
    at_least(0),
    100,
    "After how many versions of a Delta table that ``to_lake`` writes the driver puts its small"
    " files together; 0: never. For tables of Iceberg it has no effect.",
)
EMIT_INTERVAL_MS = Setting(
    "__emit.interval.ms__",
    at_least(0),
    1_000,
    "Least time between two emissions of final windows and unmatched joins.",
)
