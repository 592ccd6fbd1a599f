"""One instance, as a process of its own."""

from __future__ import annotations

import json
import logging
import sys
import threading
from typing import Any

import penstock as ps
from penstock.errors import PenstockError

WORDS, COUNTS, STORE = "words", "counts", "counts-store"


def build(version: str = "first", stores: int = 1) -> ps.Topology:
    """Count the records of every key, and write each count once.

    Args:
        version: ``other`` reads the same topic into windows, under the same name of a store.
        stores: How many stores keep the counts; only those of the first are written.
    """
    builder = ps.StreamsBuilder()
    words = builder.stream(WORDS, key=str, value=str).group_by_key()
    if version == "other":
        words.windowed_by(ps.TimeWindows.of_size_with_no_grace("1m")).count(STORE)
        return builder.build()
    counts = words.count(ps.Materialized(name=STORE, key="string", value="long"))
    for number in range(1, stores):
        words.count(f"{STORE}-{number}")
    counts.to_stream().to(COUNTS, key="string", value="long")
    return builder.build()


def main(settings: dict[str, Any]) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = ps.KafkaStreams(
        build(settings.get("app.version", "first"), settings.get("app.stores", 1)), settings
    )
    threading.Thread(target=_answer, args=(streams,), daemon=True).start()
    streams.run()


def _answer(streams: ps.KafkaStreams) -> None:
    """Answer questions about the store, one per line of standard input."""
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer: dict[str, Any] = {"value": streams.store(STORE).get(question["key"])}
        except PenstockError as error:
            answer = {"error": error.code}
        print(json.dumps({**question, **answer}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
