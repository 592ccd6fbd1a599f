"""What counts as silence."""

from __future__ import annotations

from tests.ordinary.silence import Silence


def test_standing_still_without_a_reason_is_a_problem() -> None:
    """More than a minute with records due, none done and no word is silence, told once."""
    silence = Silence()
    for at in (1.0, 40.0, 70.0, 80.0):
        silence.note(at, due=10, done=5, waiting_for=None)
    assert silence.problems == ["silent for 69 s with 10 records due"]


def test_a_reason_or_progress_ends_the_silence() -> None:
    """An application that says what it waits for, or commits a record, is not silent."""
    silence = Silence()
    for at, done, reason in (1.0, 5, None), (50.0, 5, "a broker"), (100.0, 6, None):
        silence.note(at, due=10, done=done, waiting_for=reason)
    silence.note(150.0, due=10, done=6, waiting_for=None)
    assert silence.problems == []


def test_nothing_to_do_is_not_silence() -> None:
    """Without input that is due the application has nothing to say."""
    silence = Silence()
    for at in (1.0, 500.0):
        silence.note(at, due=0, done=5, waiting_for=None)
    assert silence.problems == []
