"""The right processes are found, and nothing that the test starts outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.hosts import Nest, end
from tests.cluster.processes import Process, ProcessTable, look, sweep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

DRIVER, DRIVER_JVM, WORKER, EXECUTOR, DAEMON, THREAD, ORPHAN = range(10, 17)
TABLE = ProcessTable(
    {
        each.pid: each
        for each in (
            Process(DRIVER, 2, "python -m tests.cluster.app {}"),
            Process(DRIVER_JVM, DRIVER, "/usr/bin/java org.apache.spark.deploy.SparkSubmit"),
            Process(WORKER, 2, "/usr/bin/java org.apache.spark.deploy.worker.Worker"),
            Process(EXECUTOR, WORKER, "java org.apache.CoarseGrainedExecutorBackend --cores 1"),
            Process(DAEMON, EXECUTOR, "/usr/bin/python3 -m pyspark.daemon"),
            Process(THREAD, DAEMON, "/usr/bin/python3 -m pyspark.daemon"),
            Process(ORPHAN, 1, "/usr/bin/python3 -m pyspark.daemon"),
        )
    }
)


def test_all_python_processes_of_executors_are_found_and_orphans() -> None:
    """A stream thread whose parent has died still belongs to the application."""
    found = {each.pid for each in TABLE.pythons(DRIVER, is_local=False)}
    assert found == {DAEMON, THREAD, ORPHAN}


def test_the_driver_and_its_jvm_are_told_from_executors() -> None:
    """A kill of the driver's JVM ends the application, a kill of an executor must not."""
    assert [each.pid for each in TABLE.driver_jvms(DRIVER)] == [DRIVER_JVM]
    assert [each.pid for each in TABLE.executors()] == [EXECUTOR]


def test_processes_of_a_run_are_found_by_their_mark_and_swept(
    tmp_path: Path, needs_java: None
) -> None:
    """A grandchild that has left its parent is found too."""
    nest = Nest(tmp_path)
    program = "import subprocess; subprocess.Popen(['sleep', '60'], start_new_session=True)"
    process = nest.host("some").start("some", [sys.executable, "-c", program], {})
    assert process.wait(20) == 0
    assert [each.command for each in look(nest.mark).processes.values()] == ["sleep 60"]
    sweep(nest.mark)
    assert look(nest.mark).processes == {}


def test_hosts_do_not_share_temporary_files(tmp_path: Path, needs_java: None) -> None:
    """What a process writes to its temporary folder lies in the folder of its host."""
    nest = Nest(tmp_path)
    for name in ("one", "other"):
        host = nest.host(name)
        process = host.start("touch", ["touch", f"{host.tmp}/written-by-{name}"], {})
        assert process.wait(20) == 0, host.log("touch").read_text()
    assert [each.name for each in (tmp_path / "one" / "tmp").iterdir()] == ["written-by-one"]


def test_processes_die_with_the_test(tmp_path: Path, needs_java: None) -> None:
    """Also a test that is killed with SIGKILL leaves nothing behind."""
    program = (
        "import sys, time; from pathlib import Path; from tests.cluster.hosts import Nest;"
        "nest = Nest(Path(sys.argv[1]), mark=sys.argv[2]);"
        "nest.host('some').start('some', ['sleep', '60'], {}); print('up', flush=True);"
        "time.sleep(60)"
    )
    nest = Nest(tmp_path)
    owner = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path), nest.mark],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": nest.environment()["PYTHONPATH"]},
    )
    try:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"up\n"
        deadline = time.monotonic() + 20
        while not look(nest.mark).processes and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(owner.pid, signal.SIGKILL)
        while look(nest.mark).processes and time.monotonic() < deadline:
            time.sleep(0.05)
        assert look(nest.mark).processes == {}
    finally:
        end(owner)
        assert owner.stdout is not None
        owner.stdout.close()
        sweep(nest.mark)
