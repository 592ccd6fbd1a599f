"""A verifier's program as a process of its own, as a user would start it."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable
from typing import Any

import penstock as ps
from tests.verifiers.programs import (
    broker_down,
    eos,
    named_repartition,
    optimized,
    relational,
    shutdown_deadlock,
    smoke,
)

#: The topology of each program; a name ends in what is different about it.
PROGRAMS: dict[str, Callable[[], ps.Topology]] = {
    "smoke": smoke.build,
    "relational": relational.build,
    "eos": eos.build,
    "eos-complex": eos.build_complex,
    "optimized-none": lambda: optimized.build("none"),
    "optimized-all": lambda: optimized.build("all"),
    "named-repartition": named_repartition.build,
    "named-repartition-changed": named_repartition.build_changed,
    "shutdown-deadlock": shutdown_deadlock.build,
    "broker-down": broker_down.build,
}
#: What the program prints when it has closed, and when a batch has failed.
CLOSED, FAILED = "CLIENT-CLOSED", "CLIENT-EXCEPTION"


def main(settings: str, program: str) -> None:
    """Run a program with the settings that were given, and nothing else."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    config: dict[str, Any] = json.loads(settings)
    topology = PROGRAMS[program]()
    print(f"REPARTITION TOPIC COUNT={repartition_topics(topology)}", flush=True)
    streams = ps.KafkaStreams(topology, config)
    streams.set_state_listener(_tell_state)
    if program == "shutdown-deadlock":
        shutdown_deadlock.send_one(config["bootstrap.servers"])
        streams.set_uncaught_exception_handler(shutdown_deadlock.handle)
    else:
        streams.set_uncaught_exception_handler(_fail)
    streams.run()
    print(CLOSED, flush=True)


def repartition_topics(topology: ps.Topology) -> int:
    """Count the repartition topics as Kafka's test does, in the description."""
    return len(re.findall("Sink: .*-repartition", str(topology.describe())))


def _tell_state(new: ps.State, old: ps.State) -> None:
    print(f"StateChange: {old.value} -> {new.value}", flush=True)


def _fail(error: Exception) -> ps.ExceptionResponse:
    """Tell of an error that reached the program; Kafka's tests count each as a failure."""
    print(f"{FAILED}: {error}", flush=True)
    return ps.ExceptionResponse.SHUTDOWN_CLIENT


if __name__ == "__main__":
    main(*sys.argv[1:])
