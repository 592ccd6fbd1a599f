"""Settings that the operator has given to Spark itself: they win over Penstock's defaults.

They come from ``spark-submit --conf`` or from the file ``spark-defaults.conf``. Settings in the
configuration of the application win over both.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext

from penstock.kafka.machine import variable

_FILE = "spark-defaults.conf"
#: A name, then an equals sign, a colon or only spaces, then the value.
_LINE = re.compile(r"\s*(spark\.[^\s=:]+)(?:\s*[=:]\s*|\s+)(.*?)\s*$")


def given_to_spark() -> dict[str, str]:
    """Return the settings that spark-submit was started with, or those of the file."""
    if variable("PYSPARK_GATEWAY_PORT"):
        # spark-submit has read the file, too, and has all settings in its JVM.
        SparkContext._ensure_initialized()
        return dict(SparkConf().getAll())
    return read_defaults(_conf_folder() / _FILE)


def read_defaults(file: Path) -> dict[str, str]:
    """Read a file of Spark's settings; a missing file has none."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    found = (_LINE.fullmatch(line) for line in lines)
    return {match[1]: match[2] for match in found if match is not None}


def _conf_folder() -> Path:
    """Return the folder in which Spark's scripts look for the file."""
    own = variable("SPARK_CONF_DIR")
    if own:
        return Path(own)
    home = variable("SPARK_HOME")
    return (Path(home) if home else Path(pyspark.__file__).parent) / "conf"
