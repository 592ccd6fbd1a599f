"""Run the peers' bench: find it, check which engines can run here, and run one of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.kafka.broker_folder import free_port

_ROOT = Path(__file__).resolve().parents[1]
ENGINES = ("ks-eos", "spark", "quix2")
OURS = "ours"


@dataclass(frozen=True, slots=True)
class Peers:
    """A checkout of the peers' bench, with its scratch folder for jars and data."""

    home: Path
    work: Path

    @staticmethod
    def find() -> Peers | None:
        """Return the bench in the folder PENSTOCK_PEERS, or in the one beside this repository."""
        named = os.environ.get("PENSTOCK_PEERS")
        home = Path(named) if named else _ROOT.parent / "shared" / "bench"
        default = Path(tempfile.gettempdir()) / f"penstock-bench-{os.getuid()}"
        work = Path(os.environ.get("BENCH_WORK", default))
        return Peers(home, work) if (home / "run.py").is_file() else None

    def missing(self, engine: str) -> str | None:
        """Return what an engine lacks to run here, or None if it can run."""
        if engine == "ks-eos":
            if shutil.which("java") is None:
                return "there is no java on the path"
            has_jars = (self.work / "ks" / "lib").is_dir()
            return None if has_jars or shutil.which("mvn") else "there is no mvn to build it with"
        if engine == "spark":
            jars = os.environ.get("SPARK_JARS_DIR")
            return None if jars else "SPARK_JARS_DIR does not name the connector's jars"
        if engine.startswith("quix"):
            python = os.environ.get("QUIX_PYTHON", sys.executable)
            found = subprocess.run(
                [python, "-c", "import quixstreams"], capture_output=True, check=False
            )
            return None if found.returncode == 0 else "QUIX_PYTHON has no quixstreams"
        return None

    @contextmanager
    def broker(self) -> Iterator[Mapping[str, str]]:
        """Run the peers' broker, and yield the environment variables that their bench needs."""
        self.work.mkdir(parents=True, exist_ok=True)
        variables = {"BENCH_WORK": str(self.work), "BOOTSTRAP": f"localhost:{free_port()}"}
        self._call("broker.py", "start", variables=variables)
        variables["BROKER_PID"] = (self.work / "broker" / "pid").read_text().strip()
        try:
            yield variables
        finally:
            self._call("broker.py", "stop", variables=variables)
            shutil.rmtree(self.work / "broker" / "data", ignore_errors=True)

    def run(
        self,
        engine: str,
        workload: str,
        records: int,
        variables: Mapping[str, str],
        style: str = "",
    ) -> dict[str, Any] | None:
        """Run an engine once; return its measured and checked result, or None if it failed."""
        results = self.work / "results.jsonl"
        before = len(results.read_text().splitlines()) if results.exists() else 0
        self._call(
            "run.py", "--engines", engine, "--workloads", workload, "--records", str(records),
            "--rounds", "1", "--ours-cmd", f"{sys.executable} -m bench.engine",
            variables={**variables, "STYLE": style}, check=False,
        )  # fmt: skip
        lines = results.read_text().splitlines() if results.exists() else []
        if len(lines) == before:
            return None
        found: dict[str, Any] = json.loads(lines[-1])
        return found

    def _call(
        self, script: str, *arguments: str, variables: Mapping[str, str], check: bool = True
    ) -> None:
        environment = {**os.environ, **variables}
        path = [str(_ROOT), *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(path)
        command = [sys.executable, str(self.home / script), *arguments]
        log = self.work / "bench.log"
        with open(log, "a", encoding="utf-8") as out:
            ended = subprocess.run(
                command, env=environment, cwd=_ROOT, stdout=out, stderr=out, check=False
            )
        if check and ended.returncode != 0:
            raise RuntimeError(f"{script} {arguments[0]} failed: see {log}")
