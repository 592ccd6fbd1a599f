"""Finding Java, by the variables and files of made-up machines."""

import os
import subprocess
from pathlib import Path

import pytest

from penstock.kafka import java as java_module
from penstock.kafka.errors import JavaError
from penstock.kafka.java import find_java, java_home_for_spark

MODULES = "java.base java.sql jdk.incubator.vector"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Java; the wheel's is hidden too."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java_module, "find_spec", lambda _: None)
    return tmp_path


def install(home: Path, version: str, modules: str = MODULES) -> Path:
    (home / "bin").mkdir(parents=True)
    executable = home / "bin" / "java"
    executable.write_text('#!/bin/sh\nfor a do echo "$a"; done\n')
    executable.chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


def test_java_home_wins_over_the_path(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sets it means it."""
    install(machine / "named", "21.0.1")
    os.symlink(install(machine / "other", "17.0.2") / "bin" / "java", machine / "bin" / "java")
    assert (find_java().version, find_java().origin) == ("17.0.2", "PATH")
    assert find_java().home == machine / "other"
    monkeypatch.setenv("JAVA_HOME", str(machine / "named"))
    assert (find_java().major, find_java().origin) == (21, "JAVA_HOME")


def test_old_java_is_passed_over(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old JAVA_HOME does not hide a good Java on the path."""
    monkeypatch.setenv("JAVA_HOME", str(install(machine / "old", "1.8.0_292")))
    with pytest.raises(JavaError, match=r"found 1\.8\.0_292 \(JAVA_HOME"):
        find_java()
    os.symlink(install(machine / "new", "25") / "bin" / "java", machine / "bin" / "java")
    assert find_java().major == 25


def test_missing_java_names_the_extra(machine: Path) -> None:
    """The way out works on any machine with pip."""
    with pytest.raises(JavaError) as raised:
        find_java()
    assert raised.value.code == "java-missing"
    assert "pip install 'penstock-streams[jdk]'" in str(raised.value)


def test_java_without_release_file_is_asked(machine: Path) -> None:
    """Some packages leave the file out."""
    executable = machine / "bin" / "java"
    executable.write_text("#!/bin/sh\necho 'openjdk version \"17.0.9\" 2023-10-17' >&2\n")
    executable.chmod(0o755)
    assert find_java().version == "17.0.9"
    executable.write_text("#!/bin/sh\necho 'No Java runtime present' >&2\nexit 1\n")
    with pytest.raises(JavaError):
        find_java()


def test_spark_gets_a_java_that_does_not_know_the_vector_module(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wrapper drops the one option and hands on the rest, spaces and all."""
    home = install(machine / "a small java", "21.0.8", modules="java.base")
    monkeypatch.setenv("JAVA_HOME", str(home))
    wrapped = java_home_for_spark()
    assert wrapped == java_home_for_spark() != home
    arguments = ["--add-modules=jdk.incubator.vector", "-cp", "a b", "Main"]
    answer = subprocess.check_output([wrapped / "bin" / "java", *arguments], text=True)
    assert answer.splitlines() == ["-cp", "a b", "Main"]


def test_spark_gets_a_complete_java_as_it_is(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No wrapper where none is needed."""
    home = install(machine / "full", "17")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java_home_for_spark() == home
