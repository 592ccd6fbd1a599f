"""The process from which Spark forks its Python workers: imports once what each of them needs.

Spark's own daemon imports next to nothing, so every worker begins with a second of imports, and
has a copy of its own of what they leave in memory. Started by Spark instead of ``pyspark.daemon``
(``spark.python.daemon.module``), with the same arguments.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from penstock.kafka.machine import set_variable, variable

#: What a slot imports, directly or when the first records come.
_NEEDED = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyarrow.compute",
    "pyarrow.ipc",
    "penstock.runtime.spark.worker.slot_task",
    "penstock.kernel.columns.column_task",
)
#: Libraries that would start threads when they are imported: a fork would lose them.
_NO_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Becomes the daemon, with everything imported; else with nothing, as Spark's own."""
    sys.path[:] = without_archives(sys.path)
    for name, value in _NO_THREADS.items():
        set_variable(name, variable(name) or value)
    try:
        import_all()
    except Exception:  # noqa: BLE001 - the workers meet the same, and can say so
        _become_plain()
    if _has_threads():
        _become_plain()
    # What is there by now stays as it is, and shared: no search for garbage has to touch it.
    gc.collect()
    gc.freeze()
    importlib.import_module("pyspark.daemon").manager()


def import_all() -> None:
    """Imports what a slot will need, also what libraries import only later."""
    for name in _NEEDED:
        importlib.import_module(name)
    # When it makes its first array, Arrow looks for pandas: a third of a second where there is one.
    importlib.import_module("pyarrow").array([0])


def without_archives(path: list[str]) -> list[str]:
    """The search path without Spark's zip files, where the same is installed unpacked.

    What comes from a zip file is compiled anew in every process.
    """
    rest = [entry for entry in path if not _is_archive(entry)]
    spec = PathFinder.find_spec("pyspark", rest)
    if spec is None or spec.origin is None or PathFinder.find_spec("py4j", rest) is None:
        return path
    own = Path(spec.origin).parent / "python" / "lib"
    same = all(Path(entry).parent == own for entry in path if _is_archive(entry))
    return rest if same else path


def _is_archive(entry: str) -> bool:
    name = Path(entry).name
    return name == "pyspark.zip" or (name.startswith("py4j-") and name.endswith(".zip"))


def _has_threads() -> bool:
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        # Not Linux: nobody can tell, so nothing may be risked.
        return True


def _become_plain() -> None:
    os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])


if __name__ == "__main__":
    main()
