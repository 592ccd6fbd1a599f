"""The results of the bench: medians of quiet runs, ratios to Java, a chart."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from bench.chart import bar_chart
from bench.compare import cells


def run(engine: str, rate: float, others: float = 0.0) -> dict[str, Any]:
    return {
        "engine": engine, "workload": "w1", "records": 1000, "rate": rate, "startup": 1.0,
        "engine_cpu_s": 0.002, "broker_cpu_s": 0.001, "rss_mb": 10.0, "foreign_cores": others,
        "check": "ok" if rate else "WRONG",
    }  # fmt: skip


def test_medians_leave_out_disturbed_and_wrong_runs() -> None:
    """A run that shared the machine says little, and one with wrong output says nothing."""
    java = [run("ks-eos", 100.0), run("ks-eos", 20.0, others=1.5)]
    ours = [run("ours", 300.0), run("ours", 0.0), run("ours", 200.0), run("ours", 250.0)]
    base, mine = cells([*java, *ours])
    assert (base.per_second, base.ratio, base.quiet_runs) == (100.0, 1.0, 1)
    assert (mine.per_second, mine.ratio) == (250.0, 2.5)
    assert mine.checks == ("ok", "WRONG")
    assert round(mine.cpu_us, 6) == 3.0


def test_disturbed_runs_count_where_there_are_no_others() -> None:
    """A figure with a caveat is better than none; the number of quiet runs is the caveat."""
    (only,) = cells([run("ours", 50.0, others=1.0)])
    assert (only.per_second, only.quiet_runs, only.ratio) == (50.0, 0, None)


def test_a_chart_is_well_formed_and_has_a_bar_per_figure() -> None:
    """Names may have characters that mean something in XML."""
    text = bar_chart(
        "a < b", {"w1": {"x&y": 5.0, "z": 10.0}, "w2": {"z": 1.0}}, "r/s", ["x&y", "z"]
    )
    root = ElementTree.fromstring(text)
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["x&y: 5", "z: 10", "z: 1"]
