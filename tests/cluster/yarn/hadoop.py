"""Hadoop's YARN: a few jars from Maven Central, beside those that pyspark has already.

One jar has the servers with most dependencies. Everything else that they need is in
``hadoop-client-api`` and ``hadoop-client-runtime``, which pyspark brings.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pyspark

from penstock.kafka.download.jar_download import Jar, download_jars
from penstock.kafka.download.maven import CENTRAL_URL, Repository, maven_mirror
from penstock.kafka.machine import cache_folder

SPARK = Path(pyspark.__file__).parent
_HADOOP = "3.5.0"
_CASTLE = "1.82"
#: Hadoop in the version that pyspark 4.3 has the client of, and what the jar leaves to others.
_JARS = (
    Jar(
        "org.apache.hadoop", "hadoop-client-minicluster", _HADOOP,
        "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c", 56_006_450,
    ),
    Jar(
        "org.bouncycastle", "bcprov-jdk18on", _CASTLE,
        "14cde2fdfaa8890480a8e5b67aceef0c90f96682c1e23c133bafdc9e0b3255ce", 8_451_859,
    ),
    Jar(
        "org.bouncycastle", "bcpkix-jdk18on", _CASTLE,
        "bdc723e20834832ac6af136cb5b5ff05e43b71d4fa151cc6510d9212ee086e63", 1_151_390,
    ),
    Jar(
        "org.bouncycastle", "bcutil-jdk18on", _CASTLE,
        "4420691958ad1c0ba275a6d6d8a6317adbdbdc9277055b6a72aa89c88cda8c7d", 706_248,
    ),
)  # fmt: skip


class NoHadoopError(Exception):
    """YARN cannot run here; the text says why."""


def ensure_jars() -> Path:
    """Return the folder with the jars of YARN's servers; download them once (66 MB).

    Raises:
        NoHadoopError: pyspark has another version of Hadoop than the jars.
        DownloadError: Maven Central cannot be reached.
    """
    client = SPARK / "jars" / f"hadoop-client-api-{_HADOOP}.jar"
    if not client.is_file():
        raise NoHadoopError(f"pyspark has no {client.name}: the jars of YARN would not fit")
    cache = cache_folder()
    target = cache / f"hadoop-{_HADOOP}"
    if not target.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        repository = maven_mirror(Path.home()) or Repository(CENTRAL_URL)
        with tempfile.TemporaryDirectory(prefix="hadoop-fetch-", dir=cache) as scratch:
            folder = Path(scratch) / "jars"
            download_jars(_JARS, repository, folder, lambda text: None)
            folder.rename(target)
    return target


def class_path(configuration: str) -> str:
    """Return the class path of a server with its folder of settings in front."""
    return os.pathsep.join([configuration, f"{ensure_jars()}/*", f"{SPARK}/jars/*"])
