"""The operator's cluster test on YARN: ``python -m tests.cluster.yarn --minutes 10 --seed 7``.

It is ``python -m tests.cluster`` with a real resource manager and two node managers of Hadoop in
the place of Spark's standalone master and workers. Their jar is downloaded once.
"""

from __future__ import annotations

import sys

from penstock.kafka.download.jar_download import DownloadError
from tests.cluster.__main__ import main
from tests.cluster.faults import YARN_KINDS
from tests.cluster.yarn.cluster import Yarn
from tests.cluster.yarn.hadoop import NoHadoopError, ensure_jars

if __name__ == "__main__":
    try:
        ensure_jars()
    except (DownloadError, NoHadoopError) as error:
        sys.exit(f"YARN cannot be started: {error}")
    sys.exit(main(sys.argv[1:], Yarn, YARN_KINDS))
