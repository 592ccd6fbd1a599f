"""The daemon that Spark forks its workers from: which modules are imported, and from where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark

from penstock.runtime.spark.worker.daemon import without_archives

_LIB = Path(pyspark.__file__).parent / "python" / "lib"


def test_spark_comes_from_where_it_is_installed() -> None:
    """Its zip files hold the same, but are compiled again by every process."""
    archives = [str(path) for path in _LIB.glob("*.zip")]
    assert len(archives) == 2
    assert without_archives([*archives, *sys.path]) == sys.path


def test_the_zip_files_of_another_spark_stay_first() -> None:
    """They are what the JVM belongs to."""
    path = ["/opt/spark/python/lib/pyspark.zip", *sys.path]
    assert without_archives(path) == path


def test_without_an_installed_spark_the_zip_files_stay() -> None:
    """There is nothing else to import it from."""
    path = [str(_LIB / "pyspark.zip"), "/nowhere"]
    assert without_archives(path) == path


def test_what_is_imported_before_a_fork_starts_no_thread() -> None:
    """A thread would be missing in the workers, with whatever it held locked."""
    program = """
import json, os
from penstock.runtime.spark.worker import daemon
os.environ.update(daemon._NO_THREADS)
daemon.import_all()
print(json.dumps(daemon._has_threads()))
"""
    environment = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    run = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert json.loads(run.stdout) is (not sys.platform.startswith("linux"))
