"""When a broker lists its classes, and when it uses the archive that was made of them."""

import time
from pathlib import Path

import pytest

from penstock.kafka import class_archive
from penstock.kafka.broker_folder import BrokerFolder
from penstock.kafka.class_archive import archive_listed_classes, class_options
from penstock.kafka.distribution import Distribution
from penstock.kafka.java import Java


@pytest.fixture
def java(tmp_path: Path) -> Java:
    """A Java that makes an archive of the class list."""
    executable = tmp_path / "java" / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text('#!/bin/sh\ncp "${1#*=}" "${2#*=}"\n')
    executable.chmod(0o755)
    return Java(tmp_path / "java", "17.0.1", "test")


@pytest.fixture
def distribution(tmp_path: Path) -> Distribution:
    (tmp_path / "kafka" / "jars").mkdir(parents=True)
    return Distribution(tmp_path / "kafka")


@pytest.fixture
def folder(tmp_path: Path) -> BrokerFolder:
    return BrokerFolder(tmp_path / "broker")


def test_first_broker_lists_its_classes_and_the_next_uses_them(
    java: Java, distribution: Distribution, folder: BrokerFolder
) -> None:
    """The archive is made when the first broker has ended, and nobody waits for it."""
    (option,) = class_options(java, distribution, folder)
    listed = Path(option.removeprefix("-XX:DumpLoadedClassList="))
    assert listed.parent == distribution.folder
    listed.write_text("kafka/Kafka id: 1\n")
    archive_listed_classes(java, distribution, folder)
    archive = distribution.class_archive(java)
    deadline = time.monotonic() + 60
    while listed.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert archive.read_text() == "kafka/Kafka id: 1\n"
    used = [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    assert class_options(java, distribution, folder) == used


def test_brokers_list_their_classes_in_files_of_their_own(
    java: Java, distribution: Distribution, folder: BrokerFolder, tmp_path: Path
) -> None:
    """The list of a broker that still runs is not complete."""
    other = BrokerFolder(tmp_path / "other")
    assert class_options(java, distribution, folder) != class_options(java, distribution, other)


def test_nothing_is_made_without_a_list_or_twice(
    java: Java, distribution: Distribution, folder: BrokerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that never started has none."""
    monkeypatch.setattr(class_archive.subprocess, "Popen", pytest.fail)
    archive_listed_classes(java, distribution, folder)
    (option,) = class_options(java, distribution, folder)
    Path(option.partition("=")[2]).touch()
    distribution.class_archive(java).touch()
    archive_listed_classes(java, distribution, folder)


def test_java_that_cannot_make_archives_runs_without(
    java: Java, distribution: Distribution, folder: BrokerFolder
) -> None:
    """An empty file says so."""
    distribution.class_archive(java).touch()
    assert class_options(java, distribution, folder) == []


def test_cache_that_cannot_be_written_has_no_list(
    java: Java, distribution: Distribution, folder: BrokerFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An image may bring Kafka along for users who may only read it."""
    monkeypatch.setattr(class_archive.os, "access", lambda *_: False)
    assert class_options(java, distribution, folder) == []
