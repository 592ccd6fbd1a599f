"""A tuned changelog, and a store without one.

The changelog is where state comes back from after a loss, so its topic may have settings of its
own: how many replicas must have a write, how long deletions are kept, how large a segment is.
A store that can be computed again from its input may do without: it writes less, and starts empty.
"""

import os

from penstock import KafkaStreams, Materialized, StreamsBuilder, Topology

REPLICAS = int(os.environ.get("REPLICAS", "1"))

config = {"application.id": "tuned-changelog", "replication.factor": REPLICAS}

DAY_MS = 24 * 3600 * 1000


def build() -> Topology:
    tuned = Materialized.as_("tuned-store").with_logging_enabled(
        {
            # One replica may be away; with a single one there is none to spare.
            "min.insync.replicas": str(max(REPLICAS - 1, 1)),
            "delete.retention.ms": str(7 * DAY_MS),
            "segment.bytes": str(100 * 1024 * 1024),
        }
    )
    scratch = Materialized.as_("scratch-store").with_logging_disabled()
    builder = StreamsBuilder()
    visits = builder.stream("visits").group_by_key()
    visits.count(tuned).to_stream().to("visits-per-user")
    visits.count(scratch)
    return builder.build()


def show(streams: KafkaStreams) -> None:
    for name in ("tuned-store", "scratch-store"):
        print(name, dict(streams.store(name).all()))
