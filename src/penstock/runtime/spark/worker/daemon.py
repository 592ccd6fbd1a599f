"""The process from which Spark forks its Python workers, with their modules imported once.

Spark's own daemon imports almost nothing. So every worker begins with a second of imports, and
keeps its own copy of the imported modules in memory. Spark starts this module instead of
``pyspark.daemon`` (``spark.python.daemon.module``), with the same arguments.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from penstock.kafka.machine import set_variable, variable

#: Modules that a stream thread imports, at its start or when the first records arrive.
_NEEDED = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyarrow.compute",
    "pyarrow.ipc",
    "penstock.runtime.spark.worker.thread_task",
    "penstock.kernel.columns.column_task",
)
#: Settings that keep libraries from starting threads at import. A forked process has only the
#: thread that called fork, so those threads would be missing in the workers.
_NO_THREADS = {"JE_ARROW_MALLOC_CONF": "background_thread:false", "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Import everything and run Spark's daemon.

    If an import fails or has started a thread, run Spark's daemon without the imports.
    """
    sys.path[:] = without_archives(sys.path)
    for name, value in _NO_THREADS.items():
        set_variable(name, variable(name) or value)
    try:
        import_all()
    except Exception:  # noqa: BLE001 - the workers meet the same error and report it
        _become_plain()
    if _has_threads():
        _become_plain()
    # Imported objects stay until the end. Frozen, they are not visited by garbage collection,
    # and the workers go on sharing their memory pages with this process.
    gc.collect()
    gc.freeze()
    importlib.import_module("pyspark.daemon").manager()


def import_all() -> None:
    """Import what a stream thread needs, and what libraries import only on first use."""
    for name in _NEEDED:
        importlib.import_module(name)
    # Arrow imports pandas, if installed, when it makes its first array: a third of a second.
    importlib.import_module("pyarrow").array([0])


def without_archives(path: list[str]) -> list[str]:
    """Return the search path without Spark's zip files, if the same modules are installed unpacked.

    Python compiles a module from a zip file again in every process.
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
        # Not Linux: the number of threads is unknown, so assume that forking is not safe.
        return True


def _become_plain() -> None:
    os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])


if __name__ == "__main__":
    main()
