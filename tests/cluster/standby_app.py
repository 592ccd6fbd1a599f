"""A count with a large store, as a process of its own; it tells what it has restored."""

from __future__ import annotations

import json
import logging
import sys

import penstock as ps
from tests.cluster.telling import tell_always


def main(settings: str) -> None:
    """Count the records of each key, and print every half second how far all is."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="bytes").group_by_key().count("counts")
    streams = ps.KafkaStreams(builder.build(), json.loads(settings))
    tell_always(streams)
    streams.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
