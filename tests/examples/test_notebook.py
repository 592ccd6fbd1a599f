"""The notebook runs from top to bottom; ``penstock.notebook`` shows what it says."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.frames.frame import Frame
from penstock.notebook import SqlCells, store_table
from tests.examples.play import EXAMPLES

NOTEBOOK = EXAMPLES / "notebook" / "penstock.ipynb"


#: The client leaves sockets to the garbage collector, so it has a process of its own.
RUN = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The code cells of the notebook after a run."""
    pytest.importorskip("nbclient", reason="a development dependency")
    after = tmp_path_factory.mktemp("notebook") / "after.ipynb"
    path = os.pathsep.join(str(each) for each in sys.path if each)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(NOTEBOOK), str(after)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    notebook = json.loads(after.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(cell: Any, kind: str) -> str:
    """All that a cell shows in one format, updates included."""
    data = (output.get("data", {}) for output in cell["outputs"])
    return "\n".join("".join(each[kind]) for each in data if kind in each)


def cell_with(cells: list[Any], text: str) -> Any:
    (found,) = (cell for cell in cells if text in "".join(cell["source"]))
    return found


def test_topology_is_drawn(cells: list[Any]) -> None:
    """The last line of a cell is the topology."""
    assert "<svg" in shown(cells[0], "text/html")


def test_live_table_has_the_last_counts(cells: list[Any]) -> None:
    """The table that was drawn first is the one that was updated."""
    html = shown(cell_with(cells, "LiveTable(counts)"), "text/html")
    assert "<td>water</td><td>2</td>" in html
    assert "<td>the</td><td>3</td>" in html


def test_store_is_asked(cells: list[Any]) -> None:
    """By key and by range."""
    answer = shown(cell_with(cells, 'counts.get("water")'), "text/plain")
    assert answer == "(2, {'and': 1, 'gate': 1, 'opens': 1})"


def test_cells_of_sql_share_their_tables(cells: list[Any]) -> None:
    """A pull query has the sum, a push query every change."""
    html = shown(cell_with(cells, "INSERT INTO"), "text/html")
    assert "<td>NO</td><td>2</td><td>21.5</td>" in html
    assert "<td>SE</td><td>1</td><td>12.5</td>" in html
    assert html.count("<table>") == 2


def test_notebook_is_kept_without_output() -> None:
    """Output belongs to the reader's own run."""
    text = Path(NOTEBOOK).read_text(encoding="utf-8")
    assert text.count('"outputs": []') == text.count('"cell_type": "code"')


def test_cell_of_sql_returns_a_result_for_each_statement() -> None:
    """Statements without rows have a line of text."""
    cells = SqlCells()
    made, *_ = cells.run(
        "CREATE STREAM s (id VARCHAR KEY, v INT)"
        " WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);"
    )
    assert isinstance(made, str)
    cells.run("INSERT INTO s (id, v) VALUES ('a', 1);")
    cells.run("INSERT INTO s (id, v) VALUES ('b', 2);")
    (changes,) = cells.run("SELECT id, v FROM s EMIT CHANGES;")
    assert isinstance(changes, Frame)
    assert changes.rows == [("a", 1), ("b", 2)]
    (sources,) = cells.run("SHOW STREAMS;")
    assert isinstance(sources, Frame)
    assert len(sources) == 1


def test_table_escapes_what_it_shows() -> None:
    """A value is text and not markup."""
    table = Frame(("<k>",), [("<b>",)])
    assert "<td>&lt;b&gt;</td>" in table._repr_html_()
    assert repr(table) == "<k>\n<b>"


def test_long_store_is_cut() -> None:
    """A notebook shows the first rows."""

    class Store:
        def all(self) -> Any:
            return ((number, number) for number in range(100))

    assert len(store_table(Store(), most=7)) == 7
