"""Import rules that the layer contract of import-linter cannot express."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import penstock
import penstock.client
import penstock.sql
import penstock.testing
from tests.architecture.source import PACKAGE, imported, modules, relative, tree, within

SPARK = frozenset({"py4j", "pyspark"})
WEB = frozenset(
    {"aiohttp", "fastapi", "flask", "httpx", "httpx2", "starlette", "tornado", "uvicorn"}
)
TERMINAL = frozenset({"click", "rich", "typer"})
UNREPEATABLE = frozenset({"random", "secrets", "socket", "time", "uuid"})


HEAVY = frozenset({"confluent_kafka", "lark", "numpy", "pandas", "pyarrow", "rocksdict"})


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh process has after one statement."""
    code = f"import sys; {statement}; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(found.stdout.split())


@pytest.mark.parametrize(
    "package", ["penstock", "penstock.sql", "penstock.client", "penstock.testing"]
)
def test_importing_a_package_stays_light(package: str) -> None:
    """Every command and every Spark worker pays for what the import of a package imports."""
    loaded = loaded_by(f"import {package}")
    tops = {name.partition(".")[0] for name in loaded}
    assert (SPARK | WEB | TERMINAL | HEAVY) & tops == set()
    assert len([name for name in loaded if name.startswith("penstock")]) < 5


@pytest.mark.parametrize(
    "statement", ["from penstock import StreamsBuilder", "from penstock.sql import SqlEngine"]
)
def test_whoever_plans_loads_no_spark(statement: str) -> None:
    """Spark is loaded when something runs on it."""
    tops = {name.partition(".")[0] for name in loaded_by(statement)}
    assert (SPARK | WEB | TERMINAL | {"pandas"}) & tops == set()


def test_engine_that_only_plans_loads_nothing_that_runs_queries() -> None:
    """Kernel, stores, Kafka's clients and broker are loaded when something runs."""
    loaded = loaded_by("from penstock.sql import SqlEngine")
    running = {"rocksdict", "confluent_kafka", "penstock.kernel.task", "penstock.kafka.embedded"}
    assert running & loaded == set()


@pytest.mark.parametrize("package", [penstock, penstock.sql, penstock.client, penstock.testing])
def test_public_names_are_where_their_package_looks_for_them(package: ModuleType) -> None:
    """A package loads a name from the module that type checkers take it from."""
    tree = ast.parse(Path(package.__file__ or "").read_text(encoding="utf-8"))
    checked = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("penstock")
        for alias in node.names
    }
    assert checked == package._MODULE_OF
    assert set(package.__all__) - {"__version__"} == set(checked)
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="nothing"):
        _ = package.nothing


def test_only_the_spark_runtime_imports_spark() -> None:
    """The rest works, and is tested, where Spark was never installed."""
    offenders = [
        relative(file)
        for file in modules()
        if not within(file, "runtime/spark") and SPARK & imported(file)
    ]
    assert offenders == []


def test_graph_and_kernel_import_nothing_a_replay_would_not_repeat() -> None:
    """A replayed batch gives identical records: no clock, no random number, no network."""
    offenders = [
        f"{relative(file)}: {name}"
        for file in modules("model", "topology", "kernel")
        for name in sorted(UNREPEATABLE & imported(file))
    ]
    assert offenders == []


def _dotted(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)


def _imported_first(file: Path, known: set[str]) -> set[str]:
    """The modules of the package that a module imports while it is being imported itself."""
    found = set()
    for statement in tree(file).body:
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module is not None:
            found |= {f"{statement.module}.{alias.name}" for alias in statement.names}
            found.add(statement.module)
    return found & known


def test_no_module_has_to_be_imported_before_another() -> None:
    """Modules that import each other work only in one order, which no reader can see."""
    files = {_dotted(file): file for file in modules() if file.name != "__init__.py"}
    graph = {name: _imported_first(file, {*files}) for name, file in files.items()}
    # It imports every executor, by name.
    graph["penstock.kernel.registry"] |= {n for n in files if ".kernel.operators." in n}
    TopologicalSorter(graph).prepare()


def test_rows_of_the_client_load_neither_arrow_nor_pandas_nor_polars() -> None:
    """Who only reads rows does not wait for the libraries of those who want tables."""
    tops = {n.partition(".")[0] for n in loaded_by("from penstock.client import Client, Row")}
    assert {"pyarrow", "pandas", "polars", "numpy", "lark"} & tops == set()
