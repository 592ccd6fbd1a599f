"""``penstock run --reload``: what counts as a change, and what each run gets.

Runs on Spark are in ``tests/integration/spark/test_reload.py``.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.live import reload
from penstock.cli.live.reload import FileChanges, Reloading, forget_modules
from penstock.cli.live.sample_feed import Sample
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.snapshot import Snapshot
from penstock.errors import StreamsError
from penstock.runtime.states import State

PROGRAM = """
from {beside} import TOPIC
from penstock import StreamsBuilder
builder = StreamsBuilder()
builder.stream("in").to(TOPIC)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program and a module beside it."""
    monkeypatch.setattr(reload, "_LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("topics_of_shop", None)
    (tmp_path / "topics_of_shop.py").write_text("TOPIC = 'one'\n")
    (tmp_path / "shop.py").write_text(PROGRAM.format(beside="topics_of_shop"))
    return tmp_path


def test_a_written_added_or_removed_file_is_a_change(folder: Path) -> None:
    changes = FileChanges(folder)
    assert not changes.happened()
    (folder / "shop.py").write_text("x = 1")
    (folder / "new.sql").write_text("SELECT 1;")
    (folder / "topics_of_shop.py").unlink()
    assert changes.happened()
    assert changes.accept() == ["new.sql", "shop.py", "topics_of_shop.py"]
    assert not changes.are_there()


def test_files_of_tools_and_of_installed_packages_are_no_change(folder: Path) -> None:
    """A virtual environment has thousands of them, and Python writes its caches by itself."""
    changes = FileChanges(folder)
    for name in (".venv/a.py", "__pycache__/b.py", "site-packages/c.py", "notes.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x = 1")
    assert not changes.are_there()


def test_modules_beside_the_program_are_imported_again(folder: Path) -> None:
    assert topic(load_program(str(folder / "shop.py"))) == "one"
    (folder / "topics_of_shop.py").write_text("TOPIC = 'two'\n")
    forget_modules(folder)
    assert topic(load_program(str(folder / "shop.py"))) == "two"
    assert "penstock" in sys.modules


def topic(loaded: LoadedProgram) -> str:
    (found,) = [n.topic for n in loaded.topology.graph.nodes.values() if hasattr(n, "topic")]
    assert isinstance(found, str)
    return found


class Runs:
    """Stands for Spark: writes a file in each run, as a user would, or fails."""

    def __init__(self, *acts: Callable[[], object]) -> None:
        self.acts = list(acts)
        self.ids: list[str] = []
        self.topics: list[str] = []

    def __call__(
        self,
        loaded: LoadedProgram,
        settings: Mapping[str, Any],
        until: Callable[[Snapshot], bool],
    ) -> None:
        self.ids.append(settings["application.id"])
        self.topics.append(topic(loaded))
        if self.acts:
            self.acts.pop(0)()
        for _ in range(3):
            if until(Snapshot(1.0, State.RUNNING)):
                break


def reloading(folder: Path, runs: Runs, *, begins_anew: bool = False) -> Reloading:
    return Reloading(
        str(folder / "shop.py"),
        load_program,
        lambda loaded: {"application.id": "shop"},
        runs,
        begins_anew=begins_anew,
    )


def test_a_change_runs_the_program_again_with_the_same_state(folder: Path) -> None:
    runs = Runs(lambda: (folder / "topics_of_shop.py").write_text("TOPIC = 'another'\n"))
    reloading(folder, runs).run_all()
    assert runs.topics == ["one", "another"]
    assert runs.ids == ["shop", "shop"]


def test_a_program_that_fails_waits_for_the_next_change(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A typing error does not end the session."""
    mend = (folder / "shop.py").read_text() + "\n"

    def mended(changes: FileChanges) -> None:
        (folder / "shop.py").write_text(mend)

    monkeypatch.setattr(FileChanges, "wait", mended)
    runs = Runs(lambda: (folder / "shop.py").write_text("this is no python"))
    reloading(folder, runs).run_all()
    assert runs.ids == ["shop", "shop"]
    said = capsys.readouterr().err
    assert "[program-failed]" in said
    assert "waiting for a change" in said


def test_a_file_that_an_editor_has_just_removed_is_waited_for(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some editors remove a file before they write it again."""
    text = (folder / "shop.py").read_text()
    monkeypatch.setattr(FileChanges, "wait", lambda changes: (folder / "shop.py").write_text(text))
    runs = Runs(lambda: (folder / "shop.py").unlink())
    reloading(folder, runs).run_all()
    assert runs.ids == ["shop", "shop"]
    assert "there is no file" in capsys.readouterr().err


def test_every_run_on_a_private_broker_reads_its_input_from_the_beginning(
    folder: Path,
) -> None:
    """There is nothing on it but samples, and nothing new comes by itself."""
    compared = Compared()
    runs = Runs(lambda: (folder / "topics_of_shop.py").write_text("TOPIC = 'another'\n"))
    session = reloading(folder, runs, begins_anew=True)
    session._differences = compared  # type: ignore[assignment]
    session.run_all()
    assert runs.ids == ["shop", "shop-2"]
    assert compared.calls == ["begin shop", "end", "begin shop-2", "look"]


def test_other_brokers_forget_the_last_run_only_where_that_is_asked_for(folder: Path) -> None:
    """The name stays: it is the user's consumer group."""
    forgotten: list[str] = []
    compared = Compared()
    runs = Runs(lambda: (folder / "topics_of_shop.py").write_text("TOPIC = 'another'\n"))
    session = reloading(folder, runs)
    session.forget = lambda settings: forgotten.append(settings["application.id"])
    session._differences = compared  # type: ignore[assignment]
    session.run_all()
    assert runs.ids == ["shop", "shop"]
    assert forgotten == ["shop"]


class Compared:
    """Notes what is asked of ``Differences``, which needs a broker."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def begin(self, program: LoadedProgram, settings: Mapping[str, Any]) -> None:
        self.calls.append(f"begin {settings['application.id']}")

    def look(self, snapshot: Snapshot) -> bool:
        if self.calls[-1] not in ("look", "begin samples"):
            self.calls.append("look")
        return True

    def end(self, *, has_settled: bool) -> None:
        self.calls.append("end" + " settled" * has_settled)

    def wait_anew(self) -> None:
        self.calls.append("wait")

    def has_settled(self, snapshot: Snapshot) -> bool:
        return True


class Fed:
    """Notes when samples flow: in the calls of the comparison, to see the order."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls

    def pause(self) -> None:
        self.calls.append("pause")

    def resume(self, samples: Iterator[Sample] | None) -> None:
        self.calls.append("go on" if samples is None else "begin samples")


def test_samples_rest_while_two_runs_are_compared(folder: Path) -> None:
    """Both runs have then seen the same input: what differs is what the edit did."""
    compared = Compared()
    runs = Runs(lambda: (folder / "topics_of_shop.py").write_text("TOPIC = 'another'\n"))
    session = reloading(folder, runs, begins_anew=True)
    session.feed = Fed(compared.calls)
    session._differences = compared  # type: ignore[assignment]
    session.run_all()
    assert compared.calls == [
        "begin shop", "go on", "pause", "wait", "end settled",
        "begin shop-2", "look", "begin samples",
    ]  # fmt: skip


def test_samples_rest_while_the_program_cannot_be_loaded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileChanges, "wait", interrupted)
    calls: list[str] = []
    session = reloading(folder, Runs(lambda: (folder / "shop.py").write_text("no python")))
    session.feed = Fed(calls)
    session.run_all()
    assert calls == ["go on", "pause"]


def interrupted(changes: FileChanges) -> None:
    """Press Ctrl-C while the session waits for a change."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("failure", ["plan-changed", "user-function"])
def test_state_on_a_broker_of_the_user_is_never_left_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failure: str
) -> None:
    """The refusal says what can be done; Ctrl-C ends."""

    def fail() -> None:
        raise StreamsError(failure, "no")

    monkeypatch.setattr(FileChanges, "wait", interrupted)
    runs = Runs(fail)
    reloading(folder, runs).run_all()
    assert runs.ids == ["shop"]
    assert f"[{failure}] no" in capsys.readouterr().err
