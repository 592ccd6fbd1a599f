"""EX-03: the stores of two sub-topologies, as folders."""

from pathlib import Path

from examples.state_directory.app import build, tree
from tests.examples.play import played


def test_each_sub_topology_counts_its_own_input() -> None:
    """Inputs that never meet are sub-topologies of their own."""
    with played("state_directory", build()) as driver:
        pulses = dict(driver.get_key_value_store("pulse-counts").all())
        alarms = dict(driver.get_key_value_store("another-store").all())
    assert pulses == {"patient-1": 2, "patient-2": 1, "patient-3": 1}
    assert alarms == {"ward-4": 1}
    assert str(build().describe()).count("Sub-topology:") == 2


def test_tree_lists_tasks_and_stores(tmp_path: Path) -> None:
    """Files beside the stores are not listed."""
    for place in ("app/0_0/rocksdb/pulse-counts", "app/0_1/pulse-counts", "app/1_0/another-store"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "app" / "0_0" / ".lock").touch()
    assert tree(tmp_path) == ["0_0/pulse-counts", "0_1/pulse-counts", "1_0/another-store"]
