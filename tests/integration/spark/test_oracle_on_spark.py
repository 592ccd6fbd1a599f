"""Cases of the oracle on real Spark and real Kafka: a varied sample by default, all when asked."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.cases import Case, case_files, load
from tests.oracle.on_spark import Cluster
from tests.oracle.report import Verdict, text_of

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.oracle]

_ORACLE = Path(__file__).resolve().parents[2] / "oracle"
_SHARED = Path(os.environ.get("PENSTOCK_ORACLE") or _ORACLE.parents[2] / "shared" / "oracle")
_SAMPLE = (
    "flat-map-values-words",
    "opt-all-two-aggregations",
    "hopping-reduce-long",
    "ss-left_join-same-key-duplicates",
    "tt-outer_join-materialized",
    "fk_left_join-basic",
    "st-left_join-global",
    "suppress-window-closes-order-of-emission",
    "own-text-beyond-ascii",
)


def _cases() -> dict[str, Case]:
    folders = [folder for folder in (_SHARED, _ORACLE / "own") if folder.exists()]
    return {case.name: case for path in case_files(folders) for case in load(path)}


_CASES = _cases()


@pytest.fixture(scope="module")
def cluster(
    spark: Any, kafka_broker: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    logging.disable(logging.CRITICAL)
    yield Cluster(kafka_broker, str(tmp_path_factory.mktemp("oracle")))
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def sample(cluster: Cluster) -> dict[str, Verdict]:
    """The verdicts of the sample: an application waits a lot, so three run at a time."""
    wanted = [name for name in _SAMPLE if name in _CASES]
    with ThreadPoolExecutor(3) as pool:
        found = pool.map(lambda name: cluster.verdict(0, _CASES[name]), wanted)
        return dict(zip(wanted, found, strict=True))


def _assert_agrees(verdict: Verdict, case: Case) -> None:
    if verdict.is_excepted:
        pytest.skip(str(verdict.reason))
    assert verdict.agrees, text_of(case, verdict)


@pytest.mark.parametrize("name", _SAMPLE)
def test_sampled_cases_agree_on_spark(sample: dict[str, Verdict], name: str) -> None:
    """What Java Kafka Streams recorded, Penstock commits on Spark as well."""
    if name not in _CASES:
        pytest.skip(f"no case files in {_SHARED}; set PENSTOCK_ORACLE to a folder of cases")
    _assert_agrees(sample[name], _CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_CASES))
def test_all_cases_agree_on_spark(cluster: Cluster, name: str) -> None:
    """Every recorded case, and every case of our own; hours, not minutes."""
    _assert_agrees(cluster.verdict(0, _CASES[name]), _CASES[name])
