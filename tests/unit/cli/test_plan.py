"""``penstock plan`` as a user calls it, over what a cluster in memory says.

Exercises ``upgrades.report`` and ``plan.script``.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from penstock.cli.main import app
from penstock.cli.plan import command as module
from penstock.cli.plan.stored import StoredPlan
from penstock.config import StreamsConfig
from penstock.runtime.settings import plan_fingerprint
from penstock.sql import SqlEngine
from penstock.topology.upgrades.fingerprint import PlanFingerprint

CLICKS = """
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR, ms INT)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
VIEWS = """
CREATE TABLE views AS SELECT page, COUNT(*) AS n, SUM(ms) AS total FROM clicks GROUP BY page;
"""
SLOW = "CREATE STREAM slow AS SELECT usr, page FROM clicks WHERE ms > 100;\n"
PREFIX = "_confluent-ksql-default_query_"
PROGRAM = """
import penstock as ps
builder = ps.StreamsBuilder()
builder.stream("words").group_by_key().count("counts")
config = {"application.id": "words-app"}
"""


class Kafka:
    """Fingerprints by application, in place of batch logs."""

    def __init__(self) -> None:
        self.plans: dict[str, bytes | None] = {}
        self.settings: dict[str, Any] = {}
        self.topics = {"clicks": SimpleNamespace(partitions=[0])}

    def __call__(self, settings: dict[str, Any]) -> Kafka:
        self.settings = settings
        return self

    def read(self, application_id: str) -> StoredPlan:
        known = application_id in self.plans
        return StoredPlan(self.plans.get(application_id), known, frozenset(), is_running=False)

    def applications(self, prefix: str) -> list[str]:
        return sorted(each for each in self.plans if each.startswith(prefix))

    def has_run(self, script: str) -> None:
        engine = SqlEngine()
        engine.execute(script)
        for query_id, topology in engine.topologies().items():
            name = engine.application_id(query_id)
            config = StreamsConfig({"application.id": name})
            self.plans[name] = plan_fingerprint(topology.graph, config).to_json()


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    found = Kafka()
    monkeypatch.setattr(module, "PlanReader", found)
    return found


def plan(folder: Path, text: str, *options: str, name: str = "a.sql") -> Result:
    file = folder / name
    file.write_text(text)
    return CliRunner().invoke(app, ["plan", str(file), "--bootstrap", "here:9092", *options])


def statuses(done: Result) -> dict[str, str]:
    told = json.loads(done.output)["applications"]
    return {entry["name"]: entry["status"] for entry in told}


def test_script_that_never_ran_is_all_new(kafka: Kafka, tmp_path: Path) -> None:
    """Nothing is asked of Kafka but what it has."""
    done = plan(tmp_path, CLICKS + VIEWS + SLOW, "--json")
    assert done.exit_code == 0
    assert statuses(done) == {"CTAS_VIEWS_0": "added", "CSAS_SLOW_0": "added"}
    assert kafka.settings["bootstrap.servers"] == "here:9092"


def test_every_query_is_compared_with_its_own_state(kafka: Kafka, tmp_path: Path) -> None:
    """Unchanged, changed, added and removed side by side, and the script may start."""
    kafka.has_run(CLICKS + VIEWS + SLOW)
    kafka.has_run(CLICKS + SLOW.replace("slow", "gone"))
    added = SLOW.replace("slow", "other")
    changed = SLOW.replace("100", "200")
    done = plan(tmp_path, CLICKS + changed + added + VIEWS, "--json")
    assert done.exit_code == 0
    assert statuses(done) == {
        "CTAS_VIEWS_0": "unchanged", "CSAS_SLOW_0": "changed", "CSAS_OTHER_0": "added",
        "CSAS_GONE_0": "removed",
    }  # fmt: skip


def test_refused_query_is_shown_with_what_changed_and_the_ways_out(
    kafka: Kafka, tmp_path: Path
) -> None:
    """The exit code tells a pipeline that the start would fail."""
    kafka.has_run(CLICKS + VIEWS)
    swapped = VIEWS.replace("COUNT(*) AS n, SUM(ms) AS total", "SUM(ms) AS total, COUNT(*) AS n")
    done = plan(tmp_path, CLICKS + swapped)
    assert done.exit_code == 1
    for text in ("refused", "- aggregate COUNT(*)", "+ aggregate SUM(MS)", "1 refused"):
        assert text in done.output
    assert f"penstock reset --application-id {PREFIX}CTAS_VIEWS_0" in done.output


def test_or_replace_turns_a_refusal_into_a_change(kafka: Kafka, tmp_path: Path) -> None:
    """As the start would take it."""
    kafka.has_run(CLICKS + VIEWS)
    filtered = VIEWS.replace("GROUP BY", "WHERE ms > 1 GROUP BY")
    done = plan(tmp_path, CLICKS + filtered)
    assert done.exit_code == 1
    assert "write CREATE OR REPLACE" in done.output
    done = plan(tmp_path, CLICKS + filtered.replace("CREATE", "CREATE OR REPLACE"), "--json")
    assert (done.exit_code, statuses(done)) == (0, {"CTAS_VIEWS_0": "changed"})


def test_state_of_an_older_version_is_named(kafka: Kafka, tmp_path: Path) -> None:
    """It is accepted once, and that is said before the start."""
    kafka.plans[f"{PREFIX}CTAS_VIEWS_0"] = None
    done = plan(tmp_path, CLICKS + VIEWS)
    assert done.exit_code == 0
    assert "no fingerprint that this version can read" in done.output


def test_stores_of_a_program_are_compared(kafka: Kafka, tmp_path: Path) -> None:
    """A program is one application, with one part for each store."""
    assert statuses(plan(tmp_path, PROGRAM, "--json", name="app.py")) == {"app.py": "added"}
    other = PROGRAM.replace('"words")', '"lines")')
    assert other != PROGRAM
    first = plan(tmp_path, other, "--json", name="app.py")
    assert json.loads(first.output)["applications"][0]["application_id"] == "words-app"
    (tmp_path / "app.py").write_text(PROGRAM)
    stored = plan_fingerprint(
        module.load_program(str(tmp_path / "app.py")).topology.graph,
        StreamsConfig({"application.id": "words-app"}),
    )
    kafka.plans["words-app"] = stored.to_json()
    done = plan(tmp_path, other, name="app.py")
    assert done.exit_code == 1
    assert "- reads words" in done.output
    assert "another application.id" in done.output


def test_accepting_a_plan_prints_the_setting_that_lets_it_start(
    kafka: Kafka, tmp_path: Path
) -> None:
    """Standard output has only the setting, so that a shell can hand it to a run."""
    plan(tmp_path, PROGRAM, name="app.py")
    kafka.plans["words-app"] = stored_plan(tmp_path / "app.py")
    filtered = PROGRAM.replace(".group_by_key", ".filter(lambda k, v: v).group_by_key")
    done = plan(tmp_path, filtered, "--accept", name="app.py")
    assert done.exit_code == 0
    setting = done.stdout.strip()
    assert setting.startswith("penstock.accepted.plan=")
    assert "+ filter" in done.stderr
    assert plan(tmp_path, filtered, name="app.py").exit_code == 1
    accepted = plan(tmp_path, filtered, "-c", setting, "--json", name="app.py")
    assert (accepted.exit_code, statuses(accepted)) == (0, {"app.py": "changed"})


def test_plan_whose_state_cannot_be_read_is_not_accepted(kafka: Kafka, tmp_path: Path) -> None:
    """There is no setting to print, and the exit code says so."""
    plan(tmp_path, PROGRAM, name="app.py")
    kafka.plans["words-app"] = stored_plan(tmp_path / "app.py")
    other = PROGRAM.replace('count("counts")', 'reduce(lambda a, b: b, "counts")')
    done = plan(tmp_path, other, "--accept", name="app.py")
    assert (done.exit_code, done.stdout) == (1, "")
    assert "another application.id" in done.stderr


def test_script_is_accepted_with_or_replace_only(kafka: Kafka, tmp_path: Path) -> None:
    """One way to say it per language."""
    assert plan(tmp_path, CLICKS + VIEWS, "--accept").exit_code == 2


def stored_plan(file: Path) -> bytes:
    graph = module.load_program(str(file)).topology.graph
    return plan_fingerprint(graph, StreamsConfig({"application.id": "words-app"})).to_json()


def test_planning_sends_and_registers_nothing(kafka: Kafka, tmp_path: Path) -> None:
    """INSERT VALUES is for the run."""
    engine = SqlEngine()
    insert = "INSERT INTO clicks VALUES ('ann', '/', 3);"
    assert list(engine.planned(CLICKS + VIEWS + insert)) == ["CTAS_VIEWS_0"]
    assert (engine.outbox, engine.sources, engine.queries) == ([], {}, {})


def test_file_that_does_not_exist_is_misuse(kafka: Kafka) -> None:
    """Exit 2, as for every command."""
    done = CliRunner().invoke(app, ["plan", "missing.sql", "--bootstrap", "here:9092"])
    assert done.exit_code == 2


def test_a_plan_is_exported_without_kafka(tmp_path: Path) -> None:
    """The file has the plan and the name of the program, and none of its code."""
    (tmp_path / "words.py").write_text(PROGRAM)
    file = tmp_path / "new.json"
    told = CliRunner().invoke(app, ["plan", str(tmp_path / "words.py"), "--export", str(file)])
    assert told.exit_code == 0, told.output
    exported = json.loads(file.read_text())
    plan = PlanFingerprint.from_json(json.dumps(exported["plan"]).encode())
    assert exported["name"] == "words.py"
    assert plan is not None
    assert [section.name for section in plan.sections] == ["store 'counts'"]


def test_the_plan_of_a_script_is_not_exported(tmp_path: Path) -> None:
    """Its server compares its queries."""
    script = tmp_path / "views.sql"
    script.write_text(CLICKS)
    told = CliRunner().invoke(app, ["plan", str(script), "--export", str(tmp_path / "x")])
    assert told.exit_code == 2
    assert "penstock plan FILE.SQL" in told.output
