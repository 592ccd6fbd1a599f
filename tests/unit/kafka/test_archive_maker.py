"""The process that makes an archive of classes in the background, with a script in Java's place."""

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.kafka.processes import archive_maker
from penstock.kafka.processes.archive_maker import drop_torn_line

#: Write the class list and the priority to the archive, as Java would write the classes.
JAVA = """#!/bin/sh
for option in "$@"; do
  case $option in
    -XX:SharedClassListFile=*) listed=${option#*=} ;;
    -XX:SharedArchiveFile=*) archive=${option#*=} ;;
  esac
done
{ cat "$listed"; nice; } > "$archive"
"""


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """What a broker that was killed leaves behind."""
    file = tmp_path / "classes-17.abc.list"
    file.write_text("java/lang/Object id: 0\nkafka/Kafka id: 1\nkafka/ut")
    return file


def make(listed: Path, java: str) -> Path:
    """Run the process with this script for Java, and return where the archive belongs."""
    script = listed.with_name("java")
    script.write_text(java)
    script.chmod(0o755)
    archive = listed.with_name("classes-17.jsa")
    command = [sys.executable, "-I", "-S", archive_maker.__file__, listed, archive, script]
    subprocess.run([*command, "-Xshare:dump"], check=True, timeout=60)
    return archive


def test_archive_has_the_listed_classes_and_the_lists_are_gone(listed: Path) -> None:
    """Lists of brokers that were never stopped go, too."""
    listed.with_name("classes-17.def.list").touch()
    archive = make(listed, JAVA)
    assert archive.read_text() == "java/lang/Object id: 0\nkafka/Kafka id: 1\n19\n"
    assert sorted(file.name for file in listed.parent.iterdir()) == [
        "classes-17.jsa", "classes-17.lock", "java",
    ]  # fmt: skip


def test_java_that_cannot_make_archives_is_not_asked_again(listed: Path) -> None:
    """An empty file stands for its archive."""
    assert make(listed, "#!/bin/sh\nexit 1\n").read_bytes() == b""


def test_archive_that_another_process_makes_is_left_alone(listed: Path) -> None:
    """Two programs may end at the same moment."""
    with open(listed.with_name("classes-17.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not make(listed, JAVA).exists()
    assert listed.exists()


def test_archive_that_is_there_is_kept(listed: Path) -> None:
    """Brokers may be reading it."""
    listed.with_name("classes-17.jsa").write_text("there")
    assert make(listed, JAVA).read_text() == "there"


def test_complete_list_is_kept_whole(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("a\nb\n")
    drop_torn_line(file)
    assert file.read_text() == "a\nb\n"
