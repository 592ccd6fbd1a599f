"""The application of the chaos tests as a process; ``harness`` kills and restarts it."""

from __future__ import annotations

import logging
import sys

from penstock import ExceptionResponse, KafkaStreams
from tests.chaos.topology import build


def main(bootstrap: str, state_dir: str, guarantee: str, batch_records: str, faults: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = KafkaStreams(
        build(),
        {
            "application.id": "chaos",
            "bootstrap.servers": bootstrap,
            "state.dir": state_dir,
            "processing.guarantee": guarantee,
            "num.stream.threads": 2,
            "commit.interval.ms": 50,
            "penstock.max.batch.records": int(batch_records),
            "spark.ui.enabled": "false",
            "app.penstock.faults": faults,
        },
    )
    streams.set_uncaught_exception_handler(lambda error: ExceptionResponse.REPLACE_THREAD)
    streams.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
