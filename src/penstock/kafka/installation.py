"""Installs what a broker needs: Java and Kafka's files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.kafka.distribution import (
    KAFKA_VERSION,
    Distribution,
    download_note,
    ensure_distribution,
    installed,
)
from penstock.kafka.download.jar_download import Progress
from penstock.kafka.java import Java, find_java


def ensure_installed(progress: Progress | None = None) -> tuple[Java, Distribution]:
    """Find Java and Kafka; download Kafka if it is not in the user's cache.

    Args:
        progress: receives messages; None shows them on the terminal, if there is one.

    Raises:
        JavaError: no Java was found.
        BrokerError: Kafka cannot be downloaded.
    """
    java = find_java()
    with reporting(progress, f"Kafka {KAFKA_VERSION}") as report:
        return java, ensure_distribution(java, report)


@contextmanager
def reporting(progress: Progress | None, what: str) -> Iterator[Progress]:
    """Show messages to the caller, or on one line of the terminal that is cleared at the end."""
    if progress is not None:
        yield progress
    elif sys.stderr is not None and sys.stderr.isatty():
        shown: list[str] = []
        try:
            yield lambda text: _show(what, text, shown)
        finally:
            if shown:
                print("\r\033[K", end="", file=sys.stderr, flush=True)
    elif installed() is None:
        # A log should say why nothing happens for a minute, but not twice a second.
        print(download_note(), file=sys.stderr, flush=True)
        yield lambda _: None
    else:
        yield lambda _: None


def _show(what: str, text: str, shown: list[str]) -> None:
    shown[:] = [text]
    print(f"\r\033[K{what}, once: {text}", end="", file=sys.stderr, flush=True)
