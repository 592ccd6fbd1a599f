"""The application as a process that says what it waits for and compares its own answers."""

from __future__ import annotations

import json
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import penstock as ps
from penstock.errors import PenstockError
from tests.cluster.topology import COUNT_STORE, SUM_STORE
from tests.ordinary.topology import build

MARK = "SAYS "
STORES = (COUNT_STORE, SUM_STORE)
_EVERY_S = 1.0
#: So many keys of each store are asked for in each round.
_SAMPLE = 300


def main(settings: str, answers: str) -> None:
    """Run with the operator's settings; a file ``ask`` in the folder asks for whole stores."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = ps.KafkaStreams(build(), json.loads(settings))
    for work in (_say_state, _say_answers, lambda each: _answer(each, Path(answers))):
        threading.Thread(target=_repeat, args=(work, streams), daemon=True).start()
    streams.run()


def _repeat(work: Callable[[ps.KafkaStreams], None], streams: ps.KafkaStreams) -> None:
    while True:
        time.sleep(_EVERY_S)
        work(streams)


def _say(**said: object) -> None:
    # One write, so that the lines of threads and of Spark do not mix.
    os.write(1, f"{MARK}{json.dumps(said)}\n".encode())


def _say_state(streams: ps.KafkaStreams) -> None:
    _say(
        at=time.monotonic(),
        wall=time.time(),
        state=streams.state.value,
        waiting_for=streams.waiting_for,
    )


def _say_answers(streams: ps.KafkaStreams) -> None:
    reruns = 0.0
    if streams.state is ps.State.RUNNING:
        reruns = sum(float(each.value) for each in streams.metrics().named("reruns-total"))
    _say(answers={name: _compare(streams, name) for name in STORES}, reruns=reruns)


def _compare(streams: ps.KafkaStreams, name: str) -> dict[str, object]:
    """Ask for keys that ``all`` lists; sums and times only rise, so no answer may be smaller."""
    try:
        store = streams.store(name)
        # The processor deletes a stretch that has ended, so it may be gone by now.
        listed = [pair for pair in store.all() if not pair[0].startswith("!stretch")]
        asked = random.sample(listed, min(_SAMPLE, len(listed)))
        wrong = [key for key, value in asked if (store.get(key) or 0) < value]
    except PenstockError as error:
        return {"keys": 0, "wrong": [], "not_asked": error.code}
    return {"keys": len(asked), "wrong": wrong[:5]}


def _answer(streams: ps.KafkaStreams, folder: Path) -> None:
    """Write all that the stores list, and what ``get`` returns for each key of it."""
    if not (folder / "ask").exists() or (folder / "answers.json").exists():
        return
    try:
        # Stores answer as of the newest cut, which may be a moment behind the committed offsets.
        if not streams.run_until_idle("5s"):
            return
        stores = {name: streams.store(name) for name in STORES}
        listed = {name: dict(store.all()) for name, store in stores.items()}
        found = {name: {key: stores[name].get(key) for key in listed[name]} for name in STORES}
    except PenstockError as error:
        logging.warning("whole stores: %s", error)
        return
    new = folder / "answers.new"
    new.write_text(json.dumps({"all": listed, "get": found}), encoding="utf-8")
    new.rename(folder / "answers.json")


if __name__ == "__main__":
    main(*sys.argv[1:])
