"""Java's Kafka Streams in the user's cache, fetched by coordinates as the broker's files are."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from penstock.kafka.download.ivy import fetch_jars
from penstock.kafka.java import Java
from penstock.kafka.machine import cache_folder

STREAMS_VERSION = "4.1.0"
_MODULES = [
    ("org.apache.kafka", "kafka-clients", STREAMS_VERSION),
    ("org.apache.kafka", "kafka-streams", STREAMS_VERSION),
    ("org.slf4j", "slf4j-simple", "1.7.36"),
]


def streams_class_path(java: Java) -> str:
    """Gives the jars of Kafka Streams, fetching them once per user; whole, by one rename."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"kafka-streams-{STREAMS_VERSION}"
    with open(cache / "kafka-streams.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            with tempfile.TemporaryDirectory(prefix="kafka-streams-fetch-", dir=cache) as work:
                folder = Path(work) / "jars"
                fetch_jars(java, _MODULES, folder, lambda _: None)
                shutil.move(folder, target)
    return os.pathsep.join(str(jar) for jar in sorted(target.glob("*.jar")))
