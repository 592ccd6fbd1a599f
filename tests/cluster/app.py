"""The application as a process of its own; ``application`` starts it and starts it again."""

from __future__ import annotations

import json
import logging
import sys

from penstock import KafkaStreams
from tests.cluster.telling import tell_always
from tests.cluster.topology import build


def main(settings: str) -> None:
    """Run the application with the settings that the operator gave, and nothing else."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = KafkaStreams(build(), json.loads(settings))
    tell_always(streams)
    streams.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
