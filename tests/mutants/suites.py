"""Which modules form an area, and which tests are to notice a fault in it."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatch

#: One call of pytest: files and folders of tests.
Step = tuple[str, ...]

_COLUMN_PROPERTIES = "tests/properties/test_vectorised.py"
_STAGED = (
    "tests/unit/runtime", "tests/runtime/test_staged.py", "tests/runtime/test_slot.py",
    "tests/runtime/test_cut_batches.py", "tests/runtime/test_changelogs.py",
    "tests/runtime/test_header_stores.py", "tests/runtime/test_refusals.py",
    "tests/runtime/test_repartition_format.py", "tests/runtime/test_ttl.py",
    "tests/runtime/test_global_letters.py", "tests/runtime/test_replayed_changelog.py",
)  # fmt: skip


@dataclass(frozen=True)
class Area:
    """A part of the package. A module belongs to the first area whose pattern it matches."""

    name: str
    patterns: tuple[str, ...]
    steps: tuple[Step, ...]
    #: Tests on Kafka and Spark, for faults that no other test notices. They take minutes.
    on_spark: Step = ()

    @property
    def paths(self) -> Step:
        """All tests of the area, each named once."""
        return tuple(dict.fromkeys(path for step in self.steps for path in step))


AREAS = (
    Area(
        "columns",
        (
            "penstock/kernel/columns/*",
            "penstock/kernel/operators/*_columns.py",
            "penstock/kernel/raw_columns.py",
            "penstock/serde/column*.py",
            "penstock/model/columns/*",
            "penstock/kernel/batch_run.py",
        ),
        (
            ("tests/unit/kernel", "tests/operators", "tests/unit/testing", "tests/unit/model"),
            (_COLUMN_PROPERTIES, "tests/properties/test_cuts.py"),
            ("tests/properties/test_islands.py",),
            ("tests/properties/test_sql_vectorised.py",),
            ("tests/properties/test_expression_evaluators.py",),
            ("tests/unit/formats", "tests/unit/serde", "tests/unit/expr"),
            ("tests/sqlcases", "tests/oracle"),
        ),
    ),
    Area(
        "windows",
        ("penstock/model/windows/*", "penstock/model/rules/*"),
        (
            ("tests/unit/model", "tests/operators", "tests/unit/dsl"),
            ("tests/properties/test_vectorised.py",),
            ("tests/oracle", "tests/sqlcases"),
        ),
    ),
    Area(
        "records",
        ("penstock/kernel/*",),
        (
            ("tests/unit/kernel", "tests/operators"),
            ("tests/unit/testing", "tests/unit/dsl", *_STAGED),
            ("tests/oracle",),
            ("tests/properties/test_batches.py", "tests/properties/test_restart.py"),
            ("tests/properties/test_cuts.py", _COLUMN_PROPERTIES, "tests/sqlcases"),
        ),
    ),
    Area(
        "state",
        ("penstock/state/*",),
        (
            ("tests/unit/state", "tests/operators"),
            ("tests/state",),
            (*_STAGED, "tests/unit/kernel"),
            ("tests/properties/test_batches.py", "tests/properties/test_restart.py"),
            (_COLUMN_PROPERTIES, "tests/oracle"),
        ),
    ),
    Area(
        "runtime",
        ("penstock/runtime/*",),
        (
            (*_STAGED, "tests/unit/testing"),
            ("tests/runtime",),
            ("tests/operators", "tests/properties/test_cuts.py"),
            ("tests/properties/test_restart.py",),
            (_COLUMN_PROPERTIES, "tests/oracle"),
        ),
        on_spark=(
            "tests/integration/spark/test_streams.py", "tests/integration/spark/test_limits.py",
            "tests/integration/spark/test_changes.py", "tests/integration/spark/test_serving.py",
            "tests/integration/spark/test_failures.py", "tests/integration/spark/test_reset.py",
            "tests/integration/spark/test_refused_records.py",
        ),
    ),
)  # fmt: skip


def area_of(name: str) -> Area | None:
    """Return the area of a source file, such as ``penstock/state/open.py``."""
    for area in AREAS:
        if any(fnmatch(name, pattern) for pattern in area.patterns):
            return area
    return None
