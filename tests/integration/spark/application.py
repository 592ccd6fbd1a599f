"""An application as a process of its own; ``instances`` starts it, asks it and kills it.

It tells what it does in a file, once every tenth of a second: a process that is stopped or killed
cannot answer questions.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any, Literal

import penstock as ps
from penstock.errors import PenstockError

_EVERY_S = 0.1


def counts(
    source: str,
    sink: str,
    pause_s: float = 0.0,
    table: str | None = None,
    mode: Literal["changes", "present"] = "changes",
) -> ps.Topology:
    """Count equal values. Every change is written, so a key's output is 1, 2, 3 ... exactly.

    Args:
        table: a table of a lakehouse that gets the changes or the present rows, too.
    """
    builder = ps.StreamsBuilder()

    def slowly(value: str) -> str:
        time.sleep(pause_s)
        return value

    stream = builder.stream(source)
    if pause_s:
        stream = stream.map_values(slowly)
    found = stream.group_by(lambda _, value: value).count("counts")
    found.to_stream().to(sink)
    if table is not None:
        found.to_lake(table, mode=mode)
    return builder.build()


class SlowToOpen:
    """Makes a slot take its time before it has its state, as a long restore would."""

    @staticmethod
    def set_config(store: str, options: Any, configs: Any) -> None:
        time.sleep(30)


def watch(streams: ps.KafkaStreams, numbers: dict[str, Any]) -> None:
    """Keep the numbers up to date; while Kafka is away, asking for them takes long."""
    while True:
        try:
            found = streams.metrics()
            numbers |= {"batches": found.batches, "restored": found.restored_records}
        except PenstockError:
            # It does not lead, or Kafka is away.
            numbers.clear()
        time.sleep(_EVERY_S)


def tell(streams: ps.KafkaStreams, file: Path) -> None:
    numbers: dict[str, Any] = {}
    threading.Thread(target=watch, args=(streams, numbers), daemon=True).start()
    while True:
        told = {"state": streams.state.value, "waiting_for": streams.waiting_for, **numbers}
        fresh = file.with_suffix(".new")
        fresh.write_text(json.dumps(told))
        fresh.replace(file)
        time.sleep(_EVERY_S)


def main(given: str) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    asked = json.loads(given)
    config = asked["config"]
    lake = config.get("app.table"), config.get("app.mode", "changes")
    topology = counts(asked["source"], asked["sink"], asked["pause_s"], *lake)
    if asked["is_slow_to_open"]:
        config["rocksdb.config.setter"] = SlowToOpen
    streams = ps.KafkaStreams(topology, config)
    threading.Thread(target=tell, args=(streams, Path(asked["told"])), daemon=True).start()
    streams.run()


if __name__ == "__main__":
    main(sys.argv[1])
