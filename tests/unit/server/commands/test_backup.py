"""The copy of the command topic: it grows with the topic, and damage of the topic is noticed."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from penstock.errors import ConfigError, SerializationError, StreamsError
from penstock.server.commands.backup import CommandBackup, read_backup
from penstock.server.commands.log import Entry
from penstock.server.commands.restore import readable
from tests.unit.server.commands.test_command import COMMAND

ENTRIES = [Entry(0, b"a", b"one"), Entry(2, b"b", b"two"), Entry(4, None, None)]


def filled(folder: Path) -> Path:
    file = folder / "deep" / "commands.jsonl"
    backup = CommandBackup(file)
    for entry in ENTRIES:
        backup.check(entry)
    backup.close()
    return file


def test_new_commands_are_added(tmp_path: Path) -> None:
    """What the topic has and the file has not is written to the file."""
    assert list(read_backup(filled(tmp_path))) == ENTRIES


def test_the_same_topic_passes_at_other_offsets(tmp_path: Path) -> None:
    """A topic that was restored has no gaps between its commands."""
    backup = CommandBackup(filled(tmp_path))
    for number, entry in enumerate(ENTRIES):
        backup.check(Entry(number, entry.key, entry.value))
    backup.check_end()
    backup.check(Entry(3, b"c", b"three"))
    backup.close()
    assert [entry.value for entry in read_backup(backup.file)] == [b"one", b"two", None, b"three"]


def test_another_command_is_noticed(tmp_path: Path) -> None:
    """A topic that says something else than it did is damaged."""
    backup = CommandBackup(filled(tmp_path))
    backup.check(ENTRIES[0])
    with pytest.raises(StreamsError) as found:
        backup.check(Entry(2, b"b", b"other"))
    backup.close()
    assert found.value.code == "commands-differ"
    assert "restore-commands" in (found.value.fix or "")


def test_emptied_topic_is_noticed(tmp_path: Path) -> None:
    """A topic that ends before its copy has lost commands."""
    backup = CommandBackup(filled(tmp_path))
    backup.check(ENTRIES[0])
    assert backup.missing == 2
    with pytest.raises(StreamsError) as found:
        backup.check_end()
    backup.close()
    assert found.value.code == "commands-lost"


def test_half_written_line_is_left_out(tmp_path: Path) -> None:
    """A process that was killed while it wrote has not run that command."""
    file = filled(tmp_path)
    with file.open("ab") as out:
        out.write(b'{"offset": 6, "key"')
    assert list(read_backup(file)) == ENTRIES


def test_line_that_is_no_json_is_told(tmp_path: Path) -> None:
    """A broken file is not taken for a short one."""
    file = filled(tmp_path)
    with file.open("ab") as out:
        out.write(b"rubbish\n")
    with pytest.raises(StreamsError) as found:
        list(read_backup(file))
    assert found.value.code == "bad-backup"


def test_restoring_leaves_out_what_is_no_command(tmp_path: Path) -> None:
    """Only commands that servers can read are written to the new topic."""
    file = tmp_path / "commands.jsonl"
    backup = CommandBackup(file)
    backup.check(Entry(0, b"id", COMMAND.to_bytes()))
    backup.check(Entry(2, b"id", b"rubbish"))
    backup.close()
    good, bad = readable(file)
    assert [entry.offset for entry in good] == [0]
    assert bad == (2,)


def test_restoring_does_not_lose_what_a_newer_server_wrote(tmp_path: Path) -> None:
    """Such a command is whole; only this server cannot read it."""
    file = tmp_path / "commands.jsonl"
    newer = orjson.dumps(orjson.loads(COMMAND.to_bytes()) | {"version": 1_000})
    backup = CommandBackup(file)
    backup.check(Entry(0, b"id", COMMAND.to_bytes()))
    backup.check(Entry(2, b"id", newer))
    backup.close()
    with pytest.raises(SerializationError) as refused:
        readable(file)
    assert refused.value.code == "newer-command"
    assert "offset 2" in str(refused.value)


@pytest.mark.parametrize("line", [b"{}", b"[]", b'{"offset": "x", "key": null, "value": null}'])
def test_line_that_is_no_entry_is_told(tmp_path: Path, line: bytes) -> None:
    """A file that somebody edited does not end in a traceback."""
    file = tmp_path / "commands.jsonl"
    file.write_bytes(line + b"\n")
    with pytest.raises(StreamsError) as found:
        list(read_backup(file))
    assert found.value.code == "bad-backup"


def test_two_servers_do_not_share_a_file(tmp_path: Path) -> None:
    """Both would add every command, and the file would no longer be a copy."""
    file = tmp_path / "commands.jsonl"
    first = CommandBackup(file)
    with pytest.raises(ConfigError) as refused:
        CommandBackup(file)
    assert refused.value.code == "backup-in-use"
    first.close()
    CommandBackup(file).close()


def test_write_after_a_half_written_line_begins_a_new_line(tmp_path: Path) -> None:
    """The command behind the half line is not lost with it."""
    file = filled(tmp_path)
    with file.open("ab") as out:
        out.write(b'{"offset": 6')
    backup = CommandBackup(file)
    for entry in ENTRIES:
        backup.check(entry)
    backup.check(Entry(6, b"d", b"four"))
    backup.close()
    assert [entry.value for entry in read_backup(file)] == [b"one", b"two", None, b"four"]
