"""Commands beside a running program find its private broker by a note in the folder."""

import os
from pathlib import Path

import pytest

from penstock.kafka.errors import BrokerError
from penstock.kafka.nearby_broker import nearby_broker
from penstock.kafka.private_brokers import noted_broker, running_private_broker


def test_commands_in_the_folder_and_below_find_the_broker_while_it_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below = tmp_path / "src"
    below.mkdir()
    monkeypatch.chdir(below)
    with noted_broker("127.0.0.1:21000", tmp_path) as is_noted:
        assert is_noted
        assert nearby_broker() == "127.0.0.1:21000"
    assert running_private_broker() is None
    with pytest.raises(BrokerError, match="no-broker"):
        nearby_broker()


def test_the_folder_is_left_as_it_was(tmp_path: Path) -> None:
    with noted_broker("127.0.0.1:21000", tmp_path):
        assert (tmp_path / ".penstock" / ".gitignore").is_file()
    assert list(tmp_path.iterdir()) == []


def test_files_of_others_stay(tmp_path: Path) -> None:
    """The project's own broker has its data beside the note."""
    broker = tmp_path / ".penstock" / "broker"
    broker.mkdir(parents=True)
    with noted_broker("127.0.0.1:21000", tmp_path):
        pass
    assert broker.is_dir()


def test_the_first_of_two_programs_is_found(tmp_path: Path) -> None:
    with noted_broker("127.0.0.1:21000", tmp_path):
        with noted_broker("127.0.0.1:22000", tmp_path) as is_noted:
            assert not is_noted
        assert running_private_broker(tmp_path) == "127.0.0.1:21000"


def test_the_note_of_a_killed_program_is_not_read(tmp_path: Path) -> None:
    """Its lock is gone with the process."""
    note = tmp_path / ".penstock" / "running"
    note.mkdir(parents=True)
    (note / "bootstrap").write_text("127.0.0.1:21000")
    (note / "lock").touch()
    assert running_private_broker(tmp_path) is None
    with noted_broker("127.0.0.1:22000", tmp_path) as is_noted:
        assert is_noted
        assert running_private_broker(tmp_path) == "127.0.0.1:22000"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_does_not_stop_the_program(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with noted_broker("127.0.0.1:21000", tmp_path) as is_noted:
        assert not is_noted
    tmp_path.chmod(0o700)


def test_a_file_in_the_way_does_not_stop_the_program(tmp_path: Path) -> None:
    (tmp_path / ".penstock").touch()
    with noted_broker("127.0.0.1:21000", tmp_path) as is_noted:
        assert not is_noted
