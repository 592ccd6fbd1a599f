"""The operator's cluster test with Spark's scheduler for Kubernetes, and pods without containers.

``python -m tests.cluster.kubernetes --minutes 10 --seed 7``
"""

from __future__ import annotations

import sys

from tests.cluster.__main__ import main
from tests.cluster.kubernetes.cluster import Kubernetes

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Kubernetes))
