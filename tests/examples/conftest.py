"""Let tests import the examples as ``python examples/x.py`` does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
