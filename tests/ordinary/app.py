"""The application as a process that also says what it waits for and compares its own answers."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time

import penstock as ps
from penstock.errors import PenstockError
from tests.cluster.topology import COUNT_STORE, SUM_STORE, build

MARK = "SAYS "
_EVERY_S = 2.0


def main(settings: str) -> None:
    """Run the application with the settings that the operator gave."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = ps.KafkaStreams(build(), json.loads(settings))
    threading.Thread(target=_say_always, args=(streams,), daemon=True).start()
    streams.run()


def _say_always(streams: ps.KafkaStreams) -> None:
    while True:
        time.sleep(_EVERY_S)
        runner = streams._runner()
        said = {
            "at": time.monotonic(),
            "state": streams.state.value,
            "waiting_for": streams.waiting_for,
            "reruns": 0 if runner is None else runner.progress.reruns,
            "answers": {name: _compare(streams, name) for name in (COUNT_STORE, SUM_STORE)},
        }
        print(f"{MARK}{json.dumps(said)}", flush=True)


def _compare(streams: ps.KafkaStreams, name: str) -> dict[str, object]:
    """Ask for each key that ``all`` lists; sums only rise, so no answer may be smaller."""
    try:
        store = streams.store(name)
        # The processor's own notes begin with "!": it deletes them, so they may be gone by now.
        listed = {key: value for key, value in store.all() if not key.startswith("!")}
        wrong = [key for key, value in listed.items() if (store.get(key) or 0) < value]
    except PenstockError as error:
        return {"keys": 0, "wrong": [], "not_asked": error.code}
    return {"keys": len(listed), "wrong": wrong[:5]}


if __name__ == "__main__":
    main(*sys.argv[1:])
