"""The list of what is installed, as ``make sbom`` writes it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import ROOT


@pytest.mark.slow
def test_list_names_the_product_and_the_licences_of_what_it_needs(tmp_path: Path) -> None:
    file = tmp_path / "sbom.cdx.json"
    subprocess.run(
        [str(Path(sys.executable).with_name("cyclonedx-py")), "environment",
         "--pyproject", str(ROOT / "pyproject.toml"), "--output-reproducible",
         "--output-file", str(file), sys.executable],
        check=True, capture_output=True,
    )  # fmt: skip
    found = json.loads(file.read_text(encoding="utf-8"))
    assert found["metadata"]["component"]["name"] == "penstock-streams"
    components = {each["name"]: each for each in found["components"]}
    for name in ("pyspark", "pyarrow", "confluent-kafka", "rocksdict"):
        assert components[name]["version"]
        assert components[name]["licenses"]
