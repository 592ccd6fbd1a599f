"""Every setting: name, type, default, meaning. Names are Kafka's; the reference page is generated.

``StreamsConfig`` checks a dictionary against these and gives typed values. What a value stands for
in a running application (a serde, a handler) is resolved by the runtime that uses it.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeVar, overload

from penstock.errors import ConfigError
from penstock.setting import (
    Setting,
    anything,
    at_least,
    boolean,
    guarantee,
    host_and_port,
    integer,
    not_empty,
    older_name,
    one_of,
    optional_text,
    text,
)

T = TypeVar("T")

_log = logging.getLogger(__name__)

_SPARK_PLACES = "Spark places the work; the group only decides which driver leads."
_WHOLE_BATCH = "A batch is read as a whole; penstock.max.batch.records limits it."
_SPARK_MEASURES = "Spark measures batches and stages; streams.metrics() has the rest."
_NO_COPIES = "State moves within one Spark application; what is lost comes back from its changelog."

APPLICATION_ID = Setting(
    "application.id",
    not_empty,
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
    "Serde of keys where an operation names none; None insists on a serde everywhere.",
)
DEFAULT_VALUE_SERDE = Setting(
    "default.value.serde",
    anything,
    "string",
    "Serde of values where an operation names none; None insists on a serde everywhere.",
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
    "Whether processing.exception.handler is also asked for global stores and tables.",
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
    "How often offsets, state and output become visible together: a batch is a commit.",
)
NUM_STREAM_THREADS = Setting(
    "num.stream.threads", at_least(1), 1, "How many tasks run at the same time."
)
NUM_STANDBY_REPLICAS = Setting(
    "num.standby.replicas",
    at_least(0),
    0,
    "Copies of each store that follow its changelog.",
    unused=_NO_COPIES,
)
REPLICATION_FACTOR = Setting(
    "replication.factor", integer, -1, "Replicas of internal topics; -1 leaves it to the broker."
)
STATE_DIR = Setting("state.dir", text, "/tmp/kafka-streams", "Folder of local state.")
CACHE_MAX_BYTES = Setting(
    "statestore.cache.max.bytes",
    at_least(0),
    10 * 1024 * 1024,
    "Record cache of all stores; 0 forwards every update.",
)
VECTORIZE = Setting(
    "penstock.vectorize",
    one_of("auto", "on", "strict", "off"),
    "auto",
    "Runs built-in operations and expressions over columns where that gives the same: auto"
    " (batches of some hundred records), on (all), strict (all, and a fault in that code is raised:"
    " for tests), off.",
)
REPARTITION_FORMAT = Setting(
    "penstock.repartition.format",
    one_of("columns", "records"),
    "columns",
    "How records travel through repartition topics: columns (many in one Kafka record, fast) or"
    " records (each by itself, as Java writes and reads them).",
)
CACHE_MAX_BYTES_BUFFERING = older_name("cache.max.bytes.buffering", CACHE_MAX_BYTES)
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
DSL_STORE_SUPPLIERS = Setting(
    "dsl.store.suppliers.class", anything, "rocksdb", "Stores of the DSL: rocksdb or in_memory."
)
DSL_STORE_FORMAT = Setting(
    "dsl.store.format", one_of("DEFAULT", "HEADERS"), "DEFAULT", "HEADERS: stores keep headers."
)
DSL_STORE = older_name("default.dsl.store", DSL_STORE_SUPPLIERS)
PROCESSOR_WRAPPER = Setting(
    "processor.wrapper.class", anything, None, "A ProcessorWrapper, which wraps every processor."
)
ROCKSDB_CONFIG_SETTER = Setting(
    "rocksdb.config.setter",
    anything,
    None,
    "Tunes RocksDB: a class with set_config, or a dictionary of options.",
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
    "How long a batch is tried again while Kafka does not answer, before the application fails.",
)
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
APPLICATION_SERVER = Setting(
    "application.server",
    host_and_port,
    "",
    "host:port under which this instance answers queries.",
    unused="State is asked in process, through streams.store(name).",
)
STATE_CLEANUP_DELAY_MS = Setting(
    "state.cleanup.delay.ms", at_least(0), 600_000, "How long state of a moved task is kept."
)
STATE_CLEANUP_DIR_MAX_AGE_MS = Setting(
    "state.cleanup.dir.max.age.ms",
    at_least(-1),
    -1,
    "State that was not used for so long is deleted at the start and restored; -1: none is.",
)
WINDOW_CHANGELOG_RETENTION_MS = Setting(
    "windowstore.changelog.additional.retention.ms",
    at_least(0),
    86_400_000,
    "Added to the retention of windowed changelogs.",
)
REPARTITION_PURGE_INTERVAL_MS = Setting(
    "repartition.purge.interval.ms",
    at_least(0),
    30_000,
    "How often consumed repartition data is deleted.",
)
ACCEPTABLE_RECOVERY_LAG = Setting(
    "acceptable.recovery.lag",
    at_least(0),
    10_000,
    "Lag below which a copy of the state counts as caught up.",
    unused=_NO_COPIES,
)
MAX_WARMUP_REPLICAS = Setting(
    "max.warmup.replicas",
    at_least(1),
    2,
    "Extra copies that warm up on new instances.",
    unused=_NO_COPIES,
)
PROBING_REBALANCE_INTERVAL_MS = Setting(
    "probing.rebalance.interval.ms",
    at_least(60_000),
    600_000,
    "How often caught-up warm-up copies are looked for.",
    unused=_NO_COPIES,
)
NUM_RESTORE_THREADS = Setting(
    "num.restore.threads",
    at_least(1),
    2,
    "How many changelog partitions are restored at the same time.",
    unused="Each slot restores its own tasks, so num.stream.threads of them at the same time.",
)
METRICS_RECORDING_LEVEL = Setting(
    "metrics.recording.level",
    one_of("INFO", "DEBUG", "TRACE"),
    "INFO",
    "How much is measured.",
    unused=_SPARK_MEASURES,
)
METRICS_SAMPLE_WINDOW_MS = Setting(
    "metrics.sample.window.ms",
    at_least(0),
    30_000,
    "Span of one metrics sample.",
    unused=_SPARK_MEASURES,
)
METRICS_NUM_SAMPLES = Setting(
    "metrics.num.samples", at_least(1), 2, "Samples kept per metric.", unused=_SPARK_MEASURES
)
METRIC_REPORTERS = Setting(
    "metric.reporters", anything, "", "Classes that receive metrics.", unused=_SPARK_MEASURES
)
ENABLE_METRICS_PUSH = Setting(
    "enable.metrics.push", boolean, True, "Whether client metrics may be pushed to the broker."
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
    "Pause before a failed request is sent, or a failed batch run, again; it doubles each time.",
)
RETRY_BACKOFF_MAX_MS = Setting(
    "retry.backoff.max.ms", at_least(0), 1_000, "Longest pause before a retry."
)
RECONNECT_BACKOFF_MS = Setting(
    "reconnect.backoff.ms",
    at_least(0),
    50,
    "Pause before a broker that was lost is connected to again; it doubles each time.",
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
GROUP_PROTOCOL = Setting(
    "group.protocol",
    one_of("classic", "streams"),
    "classic",
    "Who assigns tasks: the group's leader, or the broker.",
    unused=_SPARK_PLACES,
)
GROUP_INSTANCE_ID = Setting(
    "group.instance.id",
    optional_text,
    None,
    "Static membership: a driver that restarts with this name leads again at once.",
)
SESSION_TIMEOUT_MS = Setting(
    "session.timeout.ms",
    at_least(1),
    15_000,
    "After this time without a heartbeat a driver counts as gone, and another one leads.",
)
HEARTBEAT_INTERVAL_MS = Setting(
    "heartbeat.interval.ms",
    at_least(1),
    3_000,
    "How often a driver tells the group that it is there.",
)
MAX_POLL_INTERVAL_MS = Setting(
    "max.poll.interval.ms",
    at_least(1),
    300_000,
    "Longest time between two reads before an instance counts as stuck.",
    unused=_SPARK_PLACES,
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
RACK_AWARE_STRATEGY = Setting(
    "rack.aware.assignment.strategy",
    one_of("none", "min_traffic", "balance_subtopology"),
    "none",
    "How racks count in the assignment of tasks.",
    unused=_SPARK_PLACES,
)
RACK_AWARE_TAGS = Setting(
    "rack.aware.assignment.tags",
    anything,
    "",
    "Client tags over which standby copies are spread.",
    unused=_SPARK_PLACES,
)
RACK_AWARE_NON_OVERLAP_COST = Setting(
    "rack.aware.assignment.non_overlap_cost",
    anything,
    None,
    "Price of moving a task, for the rack-aware assignment.",
    unused=_SPARK_PLACES,
)
RACK_AWARE_TRAFFIC_COST = Setting(
    "rack.aware.assignment.traffic_cost",
    anything,
    None,
    "Price of traffic between racks.",
    unused=_SPARK_PLACES,
)
TASK_ASSIGNOR = Setting(
    "task.assignor.class", anything, None, "A task assignor of your own.", unused=_SPARK_PLACES
)
UPGRADE_FROM = Setting(
    "upgrade.from",
    optional_text,
    None,
    "The version a rolling upgrade comes from.",
    unused="One process leads, so there are no rolling upgrades between versions.",
)
ALLOW_OS_GROUP_WRITE = Setting(
    "allow.os.group.write.access",
    boolean,
    False,
    "Whether the group may write to the state folder.",
)
LOG_SUMMARY_INTERVAL_MS = Setting(
    "log.summary.interval.ms", integer, 120_000, "How often a summary is logged."
)
BUILT_IN_METRICS_VERSION = Setting(
    "built.in.metrics.version",
    one_of("latest"),
    "latest",
    "Version of the built-in metrics.",
    unused=_SPARK_MEASURES,
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
MAX_BATCH_RECORDS = Setting(
    "penstock.max.batch.records",
    at_least(1),
    300_000,
    "Most records of all source partitions that one batch takes; a batch of a backlog is as large"
    " as two seconds allow.",
)
EMIT_INTERVAL_MS = Setting(
    "__emit.interval.ms__",
    at_least(0),
    1_000,
    "Least time between two emissions of final windows and unmatched joins.",
)

SETTINGS: dict[str, Setting[Any]] = {
    setting.name: setting for setting in list(globals().values()) if isinstance(setting, Setting)
}

#: Settings with these beginnings go to Kafka's clients, to topics, to Spark or to the user's code.
PREFIXES = (
    "consumer.", "main.consumer.", "restore.consumer.", "global.consumer.", "producer.", "admin.",
    "topic.", "client.tag.", "spark.", "ssl.", "sasl.", "app.",
)  # fmt: skip


class StreamsConfig(Mapping[str, Any]):
    """A checked configuration: unknown names and wrong values are refused when it is made.

    Index it with a ``Setting`` for the typed value or its default, with a name for what was given.
    """

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._given = dict(given or {})
        self._values: dict[str, Any] = {}
        for name, value in self._given.items():
            setting = SETTINGS.get(name)
            if setting is not None:
                self._take(setting, setting.parsed(value))
            elif not str(name).startswith(PREFIXES):
                raise _unknown(str(name))

    def _take(self, setting: Setting[Any], value: Any) -> None:
        self._values[setting.name] = value
        if setting.newer is not None:
            _warn_of_older_name(setting.name, setting.newer.name)
            if setting.newer.name not in self._given:
                self._values[setting.newer.name] = value

    @staticmethod
    def of(given: Mapping[str, Any] | StreamsConfig | None) -> StreamsConfig:
        return given if isinstance(given, StreamsConfig) else StreamsConfig(given)

    @overload
    def __getitem__(self, key: Setting[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Setting):
            return self._values.get(key.name, key.default)
        return self._given[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def has(self, setting: Setting[Any]) -> bool:
        """Whether the user gave this setting, rather than leaving it to its default."""
        return setting.name in self._values

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """What was given under a prefix, without it."""
        return {k[len(prefix) :]: v for k, v in self._given.items() if k.startswith(prefix)}

    @property
    def cache_max_bytes(self) -> int:
        """The record cache's size."""
        return self[CACHE_MAX_BYTES]

    @staticmethod
    def consumer_prefix(name: str) -> str:
        return f"consumer.{name}"

    @staticmethod
    def main_consumer_prefix(name: str) -> str:
        return f"main.consumer.{name}"

    @staticmethod
    def restore_consumer_prefix(name: str) -> str:
        return f"restore.consumer.{name}"

    @staticmethod
    def global_consumer_prefix(name: str) -> str:
        return f"global.consumer.{name}"

    @staticmethod
    def producer_prefix(name: str) -> str:
        return f"producer.{name}"

    @staticmethod
    def admin_client_prefix(name: str) -> str:
        return f"admin.{name}"

    @staticmethod
    def topic_prefix(name: str) -> str:
        return f"topic.{name}"


@cache
def _warn_of_older_name(older: str, newer: str) -> None:
    """Warns once per process: a configuration is read many times."""
    _log.warning("setting %s is an older name of %s: use the newer one", older, newer)


def _unknown(name: str) -> ConfigError:
    close = difflib.get_close_matches(name, SETTINGS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return ConfigError(
        "unknown-setting",
        f"there is no setting {name!r}{hint}",
        fix="use Kafka's name, a prefix such as consumer. or producer. for client settings,"
        " or app. for settings of your own",
    )


# Java's constants: StreamsConfig.APPLICATION_ID_CONFIG and so on, for every setting.
for _name in SETTINGS:
    setattr(StreamsConfig, _name.strip("_").upper().replace(".", "_") + "_CONFIG", _name)
StreamsConfig.EXACTLY_ONCE_V2 = "exactly_once_v2"  # type: ignore[attr-defined]
StreamsConfig.AT_LEAST_ONCE = "at_least_once"  # type: ignore[attr-defined]
StreamsConfig.OPTIMIZE = "all"  # type: ignore[attr-defined]
StreamsConfig.NO_OPTIMIZATION = "none"  # type: ignore[attr-defined]
