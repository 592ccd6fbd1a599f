"""Settings of state stores: where they are, their caches, copies and clean-up."""

from __future__ import annotations

from penstock.setting import (
    Setting,
    anything,
    at_least,
    boolean,
    older_name,
    one_of,
    optional_text,
    text,
)

_NO_COPIES = "State moves within one Spark application; what is lost comes back from its changelog."

NUM_STANDBY_REPLICAS = Setting(
    "num.standby.replicas",
    at_least(0),
    0,
    "Copies of each slot's stores on other executors. With 1 or more, every instance that does not"
    " lead also keeps a copy of all stores.",
)
STATE_DIR = Setting("state.dir", text, "/tmp/kafka-streams", "Folder of local state.")
CACHE_MAX_BYTES = Setting(
    "statestore.cache.max.bytes",
    at_least(0),
    10 * 1024 * 1024,
    "Record cache of all stores; 0 forwards every update.",
)
CACHE_MAX_BYTES_BUFFERING = older_name("cache.max.bytes.buffering", CACHE_MAX_BYTES)
DSL_STORE_SUPPLIERS = Setting(
    "dsl.store.suppliers.class", anything, "rocksdb", "Stores of the DSL: rocksdb or in_memory."
)
DSL_STORE_FORMAT = Setting(
    "dsl.store.format", one_of("DEFAULT", "HEADERS"), "DEFAULT", "HEADERS: stores keep headers."
)
DSL_STORE = older_name("default.dsl.store", DSL_STORE_SUPPLIERS)
ROCKSDB_CONFIG_SETTER = Setting(
    "rocksdb.config.setter",
    anything,
    None,
    "Tunes RocksDB: a class with set_config, or a dictionary of options.",
)
STATE_CLEANUP_DELAY_MS = Setting(
    "state.cleanup.delay.ms", at_least(0), 600_000, "How long state of a moved task is kept."
)
STATE_CLEANUP_DIR_MAX_AGE_MS = Setting(
    "state.cleanup.dir.max.age.ms",
    at_least(-1),
    -1,
    "State that was not used for this long is deleted at the start and restored; -1 deletes none.",
)
WINDOW_CHANGELOG_RETENTION_MS = Setting(
    "windowstore.changelog.additional.retention.ms",
    at_least(0),
    86_400_000,
    "Added to the retention of windowed changelogs.",
)
ACCEPTABLE_RECOVERY_LAG = Setting(
    "acceptable.recovery.lag",
    at_least(0),
    10_000,
    "A slot moves to an executor with less to do once its copy there lags no more than this.",
)
MAX_WARMUP_REPLICAS = Setting(
    "max.warmup.replicas",
    at_least(1),
    2,
    "How many slots at a time get an extra copy on an executor that they are to move to.",
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
ALLOW_OS_GROUP_WRITE = Setting(
    "allow.os.group.write.access",
    boolean,
    False,
    "Whether the group may write to the state folder.",
)
ACCEPTED_PLAN = Setting(
    "penstock.accepted.plan",
    optional_text,
    None,
    "Fingerprint of a changed program that may go on with the state of the former one, as penstock"
    " plan --accept prints it. Other plans, and state that cannot be read, are still refused.",
)
