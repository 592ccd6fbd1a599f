"""A new version in a real browser: its plan, and what it would write."""

from __future__ import annotations

import json
from pathlib import Path

import penstock as ps
from penstock.runtime.settings import plan_fingerprint
from tests.console.browser import Open
from tests.console.fake_application import CONFIG, FakeApplication
from tests.console.test_pages import Serve


def test_a_plan_is_compared_with_what_runs(open_page: Open, serve: Serve, tmp_path: Path) -> None:
    """Stores that go are named, and so is the way out."""
    builder = ps.StreamsBuilder()
    builder.table("customers", materialized=ps.Materialized.as_("customers"))
    builder.stream("orders", value="string").group_by_key().count("visits")
    plan = plan_fingerprint(builder.build().graph, CONFIG)
    file = tmp_path / "new.json"
    file.write_text(json.dumps({"name": "shop2.py", "plan": json.loads(plan.to_json())}))
    shown = open_page(f"{serve(FakeApplication())}#/changes")
    shown.wait_for_selector("text=What runs")
    shown.set_input_files("input[type=file]", file)
    panel = shown.wait_for_selector("section[aria-label='shop2.py']").inner_text()
    assert "It would not start" in panel
    assert "What to do: " in panel
    assert "keeps sessions" in shown.inner_text("section[aria-label='shop2.py'] .gone-line")


def test_a_difference_of_captured_records_is_shown(
    open_page: Open, serve: Serve, tmp_path: Path
) -> None:
    """The output of ``penstock diff --json``."""
    change = {"topic": "revenue", "key": "de", "timestamp": 1_000}
    changes = [{**change, "sign": "-", "value": 3}, {**change, "sign": "+", "value": 4}]
    file = tmp_path / "difference.json"
    file.write_text(json.dumps({"equal": False, "old": 9, "new": 8, "changes": changes}))
    shown = open_page(f"{serve(FakeApplication())}#/changes")
    shown.set_input_files("input[type=file]", file)
    panel = shown.wait_for_selector("section[aria-label='What it writes']").inner_text()
    assert "1 of 9 records of the old version are gone" in panel
    assert "de 4" in " ".join(shown.inner_text(".new-line").split())


def test_another_file_is_refused(open_page: Open, serve: Serve, tmp_path: Path) -> None:
    """With what is expected."""
    file = tmp_path / "x.json"
    file.write_text("no")
    shown = open_page(f"{serve(FakeApplication())}#/changes")
    shown.set_input_files("input[type=file]", file)
    assert "is not JSON" in shown.wait_for_selector(".problem").inner_text()
    file.write_text("{}")
    shown.set_input_files("input[type=file]", file)
    shown.wait_for_selector(".problem:has-text('--export')")
