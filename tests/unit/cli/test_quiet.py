"""Where Java's messages and ours go while Spark starts."""

import os

import pytest

from penstock.cli.quiet import JavaLog


def test_java_writes_to_the_file_while_it_starts(capfd: pytest.CaptureFixture[str]) -> None:
    log = JavaLog()
    with log.taking_stderr():
        os.write(2, b"of Java\n")
    os.write(2, b"of Penstock\n")
    assert log.path.read_text() == "of Java\n"
    log.close(keep=False)
    assert not log.path.exists()
    assert capfd.readouterr().err == "of Penstock\n"


def test_error_is_shown_although_java_is_still_starting(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The broker may fail first. Its error was written to the file, which was then deleted."""
    log = JavaLog()
    with log.taking_stderr():
        log.close(keep=False)
        os.write(2, b"the broker did not answer\n")
    assert capfd.readouterr().err == "the broker did not answer\n"
