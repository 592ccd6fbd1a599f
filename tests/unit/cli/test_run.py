"""The settings and output of ``penstock run``; runs are in ``tests/integration/spark``."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from penstock import StreamsBuilder
from penstock.cli import connection
from penstock.cli import run as command
from penstock.cli.live_view import LineView, bar, line, picture
from penstock.cli.main import app
from penstock.cli.program import LoadedProgram, load_program
from penstock.cli.quiet import java_log
from penstock.cli.run import merged_settings
from penstock.cli.snapshot import Rate, Snapshot
from penstock.cli.top_rows import store_to_show, top
from penstock.config import StreamsConfig
from penstock.errors import StreamsError
from penstock.runtime.settings import plan_fingerprint
from penstock.runtime.spark.driver.topics import external_topics
from penstock.runtime.states import State
from penstock.topology.topology import Topology


def word_count() -> Topology:
    builder = StreamsBuilder()
    products = builder.global_table("products")
    words = builder.stream("words").join(products, lambda left, _: left, key=lambda k, v: v)
    words.group_by(lambda _, word: word).count("counts").to_stream().to("out")
    return builder.build()


def merged(config: dict[str, Any], **options: Any) -> dict[str, Any]:
    program = LoadedProgram(Path("folder/shop.py"), word_count(), config)
    none = {"master": None, "bootstrap": None, "threads": None, "given": ()}
    return merged_settings(program, **(none | options))


@pytest.fixture(autouse=True)
def no_project_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that happens to run beside the tests is none of their business."""
    monkeypatch.setattr(connection, "running_project_broker", lambda: None)


def metrics(**changes: Any) -> Any:
    numbers = {
        "threads": 2, "batches": 7, "records": 1_234, "records_sent": 900,
        "changelog_records": 80, "restored_records": 0, "last_batch_seconds": 0.25,
        "last_batch_records": 40, "dropped": {}, "lag": {("words", 0): 3, ("words", 1): 0},
        "column_errors": {},
    }  # fmt: skip
    return SimpleNamespace(**(numbers | changes))


def drawn(snapshot: Snapshot) -> str:
    console = Console(width=120)
    with console.capture() as capture:
        console.print(picture("shop", snapshot))
    return capture.get()


def test_application_is_named_after_its_file_unless_it_says_otherwise() -> None:
    """A first program needs no settings at all."""
    assert merged({}) == {"application.id": "shop"}
    assert merged({"application.id": "a"})["application.id"] == "a"


def test_command_line_wins_over_the_program() -> None:
    """The same file runs on a laptop and on a cluster."""
    config = {"bootstrap.servers": "one:1", "num.stream.threads": 1, "commit.interval.ms": 5}
    found = merged(
        config, bootstrap="two:2", threads=4, master="local[4]", given=["commit.interval.ms=9"]
    )
    assert found == {
        "application.id": "shop",
        "bootstrap.servers": "two:2",
        "num.stream.threads": 4,
        "spark.master": "local[4]",
        "commit.interval.ms": "9",
    }


def test_setting_without_a_value_is_misuse() -> None:
    """A typing error is not a setting."""
    with pytest.raises(typer.BadParameter, match="NAME=VALUE"):
        merged({}, given=["commit.interval.ms"])


@pytest.mark.parametrize("options", [[], ["--accept-plan"]])
def test_accepted_plan_is_named_in_the_settings_of_the_run(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run compares the digest of its own plan, which only --accept-plan fills in."""
    found: dict[str, Any] = {}
    monkeypatch.setattr(command, "run_once", lambda loaded, settings, *_: found.update(settings))
    monkeypatch.setattr(command, "_print_end", lambda last: None)
    program = tmp_path / "app.py"
    program.write_text(
        "import penstock\nbuilder = penstock.StreamsBuilder()\n"
        "builder.stream('words').group_by_key().count('counts')\n"
    )
    done = CliRunner().invoke(app, ["run", str(program), "--bootstrap", "here:9092", *options])
    assert done.exit_code == 0, done.output
    graph = load_program(str(program)).topology.graph
    digest = plan_fingerprint(graph, StreamsConfig(found)).digest
    assert found.get("penstock.accepted.plan") == (digest if options else None)


def test_private_broker_gets_the_topics_that_the_program_names() -> None:
    """Not the internal ones: the application makes those."""
    assert external_topics(word_count().graph) == ["products", "words", "out"]


def test_line_has_what_there_is() -> None:
    """Restores and drops appear once there are some."""
    assert line(Snapshot(0.0, State.REBALANCING)) == "REBALANCING"
    text = line(Snapshot(3.0, State.RUNNING, metrics(), 411.6))
    assert "1,234 records (412/s)  lag 3  batch 7 in 0.25 s" in text
    assert "restored" not in text
    rich = metrics(restored_records=5, dropped={("filter", "null key"): 2})
    assert line(Snapshot(3.0, State.RUNNING, rich)).endswith("restored 5  dropped 2")


def test_picture_shows_state_lag_drops_and_rows() -> None:
    """Everything that the command promises."""
    numbers = metrics(dropped={("count", "null key"): 2})
    text = drawn(Snapshot(75.0, State.RUNNING, numbers, 12.0, ("counts", (("the", 8), ("a", 2)))))
    for part in ("● RUNNING", "1:15", "words-0", "null key at count: 2", "counts", "the", "0.25 s"):
        assert part in text


def test_fault_in_the_column_path_is_shown() -> None:
    """Results are right, but slower, and only whoever is told can report it."""
    snapshot = Snapshot(1.0, State.RUNNING, metrics(column_errors={"IndexError at a.py:3": 2}))
    assert line(snapshot).endswith("column errors 2")
    assert "IndexError at a.py:3: 2" in drawn(snapshot)
    assert snapshot.to_json()["column_errors"] == {"IndexError at a.py:3": 2}


def test_restore_shows_how_far_each_store_is() -> None:
    """Whoever waits for state wants to know for how long."""
    restore: Any = SimpleNamespace(store="counts", partition=1, start=100, position=150, end=300)
    snapshot = Snapshot(1.0, State.RUNNING, metrics(), restores=(restore,))
    assert "counts-1" in drawn(snapshot)
    assert "25%" in drawn(snapshot)
    assert line(snapshot).endswith("restoring counts-1 25%")
    assert snapshot.to_json()["restoring"] == {"counts-1": 0.25}


@pytest.mark.parametrize(("code", "stays"), [("batch-failed", True), ("user-function", False)])
def test_log_of_spark_stays_only_where_it_explains_something(
    code: str, stays: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that names the user's line needs no file beside it."""
    with pytest.raises(StreamsError), java_log() as log:
        raise StreamsError(code, "no")
    assert log.path.exists() is stays
    assert (str(log.path) in capsys.readouterr().err) is stays
    log.path.unlink(missing_ok=True)


def test_many_partitions_are_summed_up() -> None:
    """The view keeps its height; the partitions that wait most are the ones shown."""
    lag = {("words", number): number for number in range(40)}
    text = drawn(Snapshot(1.0, State.RUNNING, metrics(lag=lag)))
    assert "words-39" in text
    assert "words-3 " not in text
    assert "… 28 more" in text


def test_lines_come_when_the_state_changes_or_work_was_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A log file of an idle application does not grow."""
    view = LineView("shop", as_json=False)
    for seconds, records in ((0.0, 0), (1.0, 10), (6.0, 20), (20.0, 20)):
        view.show(Snapshot(seconds, State.RUNNING, metrics(records=records)))
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_idle_means_running_without_lag() -> None:
    """An application on its way up has no lag either."""
    assert Snapshot(1.0, State.RUNNING, metrics(lag={("words", 0): 0})).is_idle
    assert not Snapshot(1.0, State.RUNNING, metrics()).is_idle
    assert not Snapshot(1.0, State.REBALANCING, metrics(lag={})).is_idle
    assert not Snapshot(1.0, State.RUNNING).is_idle


def test_rate_looks_at_the_last_seconds_only() -> None:
    """What happened a minute ago says nothing about now."""
    rate = Rate()
    assert rate.add(0.0, 0) == 0.0
    assert rate.add(2.0, 200) == 100.0
    for second in range(3, 12):
        latest = rate.add(float(second), 200)
    assert latest == 0.0


def test_top_rows_are_the_largest_numbers_or_the_first_keys() -> None:
    """Equal numbers keep the order of their keys."""
    assert top([("a", 1), ("b", 5), ("c", 1)], 2) == (("b", 5), ("a", 1))
    assert top([("a", "x"), ("b", "y")], 1) == (("a", "x"),)
    assert store_to_show(word_count().graph) == "counts"


@pytest.mark.parametrize(
    ("value", "most", "shown"), [(0, 8, ""), (8, 8, "████"), (4, 8, "██"), (1, 10_000, "▏")]
)
def test_bar_shows_whatever_is_more_than_nothing(value: int, most: int, shown: str) -> None:
    """One waiting record among ten thousand is still one."""
    assert bar(value, most, 4) == shown
