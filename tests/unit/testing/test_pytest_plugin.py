"""The pytest plugin: short tracebacks, and what a test driver knows when a test fails."""

from typing import Any

import pytest

from penstock.errors import StreamsError
from penstock.testing import TopologyTestDriver
from penstock.testing.pytest_plugin import driver_report

pytest_plugins = ["pytester"]

PROGRAM = """
from penstock import Grouped, StreamsBuilder
from penstock.testing import TopologyTestDriver

def build():
    builder = StreamsBuilder()
    (builder.stream("orders", value=str)
        .map_values(lambda text: int(text))
        .group_by_key(Grouped.with_(str, int))
        .count("counts")
        .to_stream()
        .to("out"))
    return builder.build()
"""


class Run:
    """Runs tests in a folder of their own, with the plugin as it is in this checkout."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self._pytester = pytester

    def __call__(self, tests: str, *options: str) -> str:
        self._pytester.makepyfile(test_app=PROGRAM + tests)
        # An installed one would be the same plugin a second time.
        plugin = ("-p", "penstock.testing.pytest_plugin", "-p", "no:penstock")
        # The driver and its registry belong to this process: one process, one registry.
        result = self._pytester.runpytest(*plugin, "-p", "no:randomly", *options)
        return "\n".join(result.outlines)


@pytest.fixture(scope="module")
def loaded() -> None:
    """Loads all modules that the tests need: pytester forgets those that a run inside has loaded.

    A second copy of a class would not know the objects of the first.
    """
    namespace: dict[str, Any] = {}
    exec(PROGRAM, namespace)
    with (
        TopologyTestDriver(namespace["build"]()) as driver,
        pytest.raises(StreamsError) as raised,
    ):
        driver.pipe("orders", (None, "1"), ("a", "two"))
    assert raised.value.code == "user-function"
    assert driver_report(driver)


@pytest.fixture
def run(loaded: None, pytester: pytest.Pytester) -> Run:
    return Run(pytester)


DROPPED = (
    "null-key-or-value in count · test_app.py:9: topic 'orders' partition 0 offset 1 time 1"
    " key null value '2'"
)
FAILING_FUNCTION = """
def test_orders():
    with TopologyTestDriver(build()) as driver:
        driver.pipe("orders", ("a", "1"), ("b", "two"))
"""


def test_traceback_has_the_lines_of_the_user_and_none_of_penstock(run: Run) -> None:
    """The line of the test that piped the record, and the line of the function that failed."""
    text = run(FAILING_FUNCTION)
    assert "penstock/kernel" not in text
    assert "src/penstock" not in text
    assert '>           driver.pipe("orders", ("a", "1"), ("b", "two"))' in text
    assert ">   .map_values(lambda text: int(text))" in text
    assert "[user-function] map_values at test_app.py:7 raised ValueError" in text


def test_full_trace_has_everything(run: Run) -> None:
    """Whoever looks for a fault of Penstock needs its lines."""
    assert "penstock/kernel" in run(FAILING_FUNCTION, "--full-trace")


def test_failing_assertion_shows_dropped_records_and_the_topology(run: Run) -> None:
    """What is missing in the output was often dropped, and the tree says where."""
    text = run("""
def test_orders():
    with TopologyTestDriver(build()) as driver:
        driver.pipe("orders", ("a", "1"), (None, "2"))
        assert driver.read_map("out") == {"a": 1, "b": 1}
""")
    assert "TopologyTestDriver 'topology-test-driver'" in text
    lines = [line.strip() for line in text.splitlines()]
    start = lines.index("1 record dropped:")
    assert lines[start + 1 : start + 3] == [
        DROPPED,
        "records written: 'out' 1, 'topology-test-driver-counts-changelog' 1",
    ]
    tree = lines[lines.index("sub-topology 0") :]
    assert tree[0] == "sub-topology 0"
    assert tree[3].startswith("└─ count · test_app.py:9 · counts")
    assert tree[4] == "│  ✗ 1 record dropped: null-key-or-value"


def test_passing_test_prints_nothing(run: Run) -> None:
    text = run("""
def test_orders():
    with TopologyTestDriver(build()) as driver:
        driver.pipe("orders", (None, "2"))
""")
    assert "1 passed" in text
    assert "dropped" not in text


def test_driver_of_an_earlier_test_is_not_shown(run: Run) -> None:
    """A report is about its own test; a driver that several tests share is shown where it is used.

    Nothing of a driver is kept beyond its test.
    """
    text = run("""
import pytest

@pytest.fixture(scope="module")
def shared():
    with TopologyTestDriver(build(), {"application.id": "shared"}) as driver:
        yield driver

def test_first():
    with TopologyTestDriver(build(), {"application.id": "first"}) as driver:
        driver.pipe("orders", ("a", "1"))

def test_second(shared):
    shared.pipe("orders", ("a", "1"))

def test_third(shared):
    assert False

def test_fourth(shared):
    shared.pipe("orders", ("a", "1"))
    assert False
""")
    third, fourth = text.split("_ test_fourth _")
    assert "TopologyTestDriver 'shared'" not in third
    assert "TopologyTestDriver 'shared'" in fourth
    assert "TopologyTestDriver 'first'" not in text


def test_driver_that_cannot_be_made_is_not_reported(run: Run) -> None:
    """The error says what is wrong; there is nothing to tell about the driver."""
    text = run("""
def test_orders():
    TopologyTestDriver(build(), {"num.stream.threads": "many"})
""")
    assert "ConfigError" in text
    assert "records written" not in text


def test_many_dropped_records_are_cut(run: Run) -> None:
    """A report is read by a person."""
    text = run("""
def test_orders():
    with TopologyTestDriver(build()) as driver:
        driver.pipe("orders", *[(None, "2")] * 25)
        assert driver.read_values("out")
""")
    assert "25 records dropped:" in text
    assert "… and 15 more: driver.dropped has them all" in text


def test_suite_without_a_driver_loads_nothing_of_penstock(pytester: pytest.Pytester) -> None:
    """Every pytest run of an environment loads the plugin, also for tests of something else."""
    pytester.makepyfile(
        test_other="""
        import sys

        def test_light():
            loaded = {name for name in sys.modules if name.startswith("penstock")}
            assert loaded == {
                "penstock",
                "penstock.testing",
                "penstock.testing.drivers_in_use",
                "penstock.testing.pytest_plugin",
            }
        """
    )
    options = ("-p", "penstock.testing.pytest_plugin", "-p", "no:penstock")
    result = pytester.runpytest_subprocess(*options, "-p", "no:hypothesispytest", "-p", "no:xdist")
    result.assert_outcomes(passed=1)
