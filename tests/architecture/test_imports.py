"""What may import what, where the layer contract of import-linter does not reach."""

import subprocess
import sys

from tests.architecture.source import imported, modules, relative, within

SPARK = frozenset({"py4j", "pyspark"})
WEB = frozenset({"aiohttp", "fastapi", "flask", "httpx", "starlette", "tornado", "uvicorn"})
TERMINAL = frozenset({"click", "rich", "typer"})
UNREPEATABLE = frozenset({"random", "secrets", "socket", "time", "uuid"})


def test_importing_penstock_stays_light() -> None:
    """Every Spark worker pays for what `import penstock` imports."""
    code = "import sys, penstock; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert (SPARK | WEB | TERMINAL | {"pandas"}).intersection(loaded) == set()


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
