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
        return
    with terminal_line(f"{what}, once") as show:
        if show is None and installed() is None:
            # A log should say why nothing happens for a minute, but not twice a second.
            print(download_note(), file=sys.stderr, flush=True)
        yield show or (lambda _: None)


@contextmanager
def terminal_line(what: str) -> Iterator[Progress | None]:
    """Yield what shows a text on one line of the terminal; None if there is no terminal.

    Each text takes the place of the one before, and the line is cleared at the end.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    is_shown = False

    def show(text: str) -> None:
        nonlocal is_shown
        is_shown = True
        print(f"\r\033[K{what}: {text}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if is_shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
