"""A count with a large store, as a process of its own; it tells what it has restored."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time

import penstock as ps


def main(settings: str) -> None:
    """Count the records of each key, and print every half second how far all is."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    builder = ps.StreamsBuilder()
    builder.stream("in", key="string", value="bytes").group_by_key().count("counts")
    streams = ps.KafkaStreams(builder.build(), json.loads(settings))
    threading.Thread(target=_tell, args=(streams,), daemon=True).start()
    streams.run()


def _tell(streams: ps.KafkaStreams) -> None:
    while True:
        time.sleep(0.5)
        runner = streams._runner()
        if runner is not None:
            standbys = {str(n): lag for n, lag in runner.standby_lags().items()}
            told = {"restored": runner.progress.restored, "standbys": standbys}
            print(f"TOLD {json.dumps(told)}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
