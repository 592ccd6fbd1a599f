"""SIGTERM and Ctrl-C inside and outside of the block."""

from __future__ import annotations

import signal
import threading

import pytest

from penstock.runtime.signals import on_signals


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
