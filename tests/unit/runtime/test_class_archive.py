"""When the JVM records its classes, and when it uses what was recorded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.runtime.spark.driver.class_archive import ClassArchive


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    return ClassArchive(tmp_path / "classes", "spark-1-java-2")


def recorded(options: list[str]) -> Path:
    """Where the JVM is to write the archive."""
    return Path(options[0].strip('"').removeprefix("-XX:ArchiveClassesAtExit="))


def used(options: list[str]) -> Path:
    return Path(options[0].strip('"').removeprefix("-XX:SharedArchiveFile="))


def test_the_second_start_records_and_the_third_uses_it(archive: ClassArchive) -> None:
    """A start that stays the only one is not made slower."""
    assert archive.options() == []
    fresh = recorded(archive.options())
    assert fresh.parent == archive.folder
    fresh.write_bytes(b"\xa8\xba\x0b\xf0 and the classes")
    assert used(archive.options()) == archive.file
    assert archive.file.read_bytes().endswith(b"and the classes")
    assert not fresh.exists()


def test_first_start_records_if_more_are_expected(archive: ClassArchive) -> None:
    """As in a demo. It changes nothing once there is a note."""
    archive.expect_more_starts()
    assert recorded(archive.options()).parent == archive.folder
    archive.expect_more_starts()
    assert [bool(archive.options()) for _ in range(3)] == [True, True, False]


def test_what_is_still_being_written_is_left_alone(archive: ClassArchive) -> None:
    """The JVM writes the first bytes last."""
    archive.options()
    fresh = recorded(archive.options())
    fresh.write_bytes(b"\0\0\0\0 and some classes")
    assert used(archive.options()) != archive.file
    assert not archive.file.exists()


def test_programs_that_are_always_killed_stop_recording(archive: ClassArchive) -> None:
    """Each attempt costs the start a few seconds."""
    found = [archive.options() for _ in range(8)]
    assert [bool(options) for options in found] == [False, *[True] * 3, *[False] * 4]


def test_other_versions_have_archives_of_their_own(archive: ClassArchive) -> None:
    """And those that nobody has used for long make room."""
    other = ClassArchive(archive.folder, "spark-0-java-2")
    other.options()
    other.file.write_bytes(b"classes")
    os.utime(other.file, (0, 0))
    archive.options()
    recorded(archive.options()).write_bytes(b"\xa8\xba\x0b\xf0")
    assert used(archive.options()) == archive.file
    assert not other.file.exists()


def test_a_folder_that_no_option_can_name_is_not_used(tmp_path: Path) -> None:
    """Spark splits the options at quotes."""
    assert ClassArchive(tmp_path / 'a "b"', "x").options() == []
    assert not list(tmp_path.iterdir())
