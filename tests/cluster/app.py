"""The application as a process of its own; ``application`` starts it and starts it again."""

from __future__ import annotations

import json
import logging
import random
import signal
import sys
from typing import Any

from penstock import KafkaStreams
from tests.cluster.telling import tell_always
from tests.cluster.topology import build

#: The signal on which a stream thread's task is killed through Spark.
KILL_A_TASK = signal.SIGUSR1


def main(settings: str) -> None:
    """Run the application with the settings that the operator gave, and nothing else."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    streams = KafkaStreams(build(), json.loads(settings))
    tell_always(streams)
    signal.signal(KILL_A_TASK, lambda *_: _kill_a_task(streams))
    streams.run()


def _kill_a_task(streams: KafkaStreams) -> None:
    """Let Spark kill the task of one of the threads, if there is one."""
    runner = streams._runner()
    threads = [] if runner is None else list(runner.placement.threads._living.values())
    if runner is not None and threads:
        victim = random.choice(threads)
        assert victim.hello.task is not None
        java: Any = runner.placement.threads.context._jsc
        java.sc().killTaskAttempt(victim.hello.task.attempt, True, "a test wants it")


if __name__ == "__main__":
    main(*sys.argv[1:])
