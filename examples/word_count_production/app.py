"""Word count as it would go to production: names, threads, replicas, and an end that is clean.

Against a cluster of three brokers: ``BOOTSTRAP=kafka:9092 REPLICAS=3 python app.py``. It runs
until Ctrl-C or SIGTERM, and has 30 seconds to finish what it began.
"""

import logging
import os
import re
from typing import Any

from penstock import (
    ExceptionResponse,
    Grouped,
    KafkaStreams,
    Materialized,
    Produced,
    Serdes,
    State,
    StreamsBuilder,
    Topology,
)

log = logging.getLogger("wordcount")

REPLICAS = int(os.environ.get("REPLICAS", "1"))

config: dict[str, Any] = {
    "application.id": "wordcount-v2",
    "num.stream.threads": 2,
    "num.standby.replicas": 1,
    "replication.factor": REPLICAS,
    "commit.interval.ms": 1_000,
    "processing.guarantee": "exactly_once_v2",
    "statestore.cache.max.bytes": 10 * 1024 * 1024,
    "rocksdb.config.setter": {"write_buffer_size": 16 * 1024 * 1024, "max_write_buffer_number": 3},
}


def build() -> Topology:
    """Every operator with state has a name, so that the topology can grow and keep its topics."""
    counts = (
        Materialized.as_("word-count-store")
        .with_caching_enabled()
        # One replica may be away; with a single replica there is none to spare.
        .with_logging_enabled({"min.insync.replicas": str(max(REPLICAS - 1, 1))})
    )
    builder = StreamsBuilder()
    (
        builder.stream("text-input", name="lines")
        .flat_map_values(words, name="split-lines")
        .filter(lambda _, word: word != "", name="drop-empty-words")
        .select_key(lambda _, word: word, name="key-by-word")
        .group_by_key(Grouped.with_(Serdes.string(), Serdes.string(), name="words"))
        .count(counts, name="count-words")
        .to_stream(name="changes")
        .to("wordcount-output", Produced.with_(Serdes.string(), Serdes.long()), name="counts")
    )
    return builder.build()


def words(line: str) -> list[str]:
    return re.split(r"\W+", line.lower())


def on_state(new: State, old: State) -> None:
    log.info("state %s -> %s", old.value, new.value)


def on_error(error: Exception) -> ExceptionResponse:
    """A failed batch is run again: nothing of it was committed."""
    log.error("a batch failed, starting it again: %s", error)
    return ExceptionResponse.REPLACE_THREAD


def application(settings: dict[str, Any]) -> KafkaStreams:
    streams = KafkaStreams(build(), config | settings)
    streams.set_state_listener(on_state)
    streams.set_uncaught_exception_handler(on_error)
    return streams


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    streams = application({"bootstrap.servers": os.environ["BOOTSTRAP"]})
    # Sub-topologies and repartition topics can be checked in the log before anything runs.
    log.info("topology\n%s", streams.topology.describe())
    with streams.closes_on_signals():
        streams.start()
        streams.wait()
    is_clean = streams.close("30s")
    log.info("closed %s", "cleanly" if is_clean else "with work left for the next start")


if __name__ == "__main__":
    main()
