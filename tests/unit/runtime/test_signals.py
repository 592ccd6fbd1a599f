"""SIGTERM and Ctrl-C inside and outside of the block."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from penstock.runtime.signals import on_signals, wait_awake


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_inside_the_block_closes_and_the_former_handler_comes_back(
    number: signal.Signals,
) -> None:
    """What the program itself does about signals is only set aside."""
    closed: list[int] = []
    former = signal.getsignal(number)
    with on_signals(lambda: closed.append(1)):
        signal.raise_signal(number)
        assert closed == [1]
    assert signal.getsignal(number) is former


def test_another_thread_changes_no_handler() -> None:
    """Python would refuse it."""
    former, seen = signal.getsignal(signal.SIGTERM), []

    def block() -> None:
        with on_signals(lambda: None):
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=block)
    thread.start()
    thread.join()
    assert seen == [former]


def test_a_signal_that_another_thread_receives_is_handled() -> None:
    """Python wakes its main thread only for signals that this thread has received."""
    changed, seen = threading.Condition(), list[int]()
    ready = threading.Event()

    def receive() -> None:
        ready.wait(30)
        time.sleep(0.1)
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)
        time.sleep(5)

    former = signal.signal(signal.SIGUSR1, lambda number, _: seen.append(number))
    other = threading.Thread(target=receive, daemon=True)
    other.start()
    try:
        with changed:
            ready.set()
            assert wait_awake(changed, lambda: bool(seen), 30)
        assert not wait_awake(changed, lambda: False, 0.0)
    finally:
        signal.signal(signal.SIGUSR1, former)
