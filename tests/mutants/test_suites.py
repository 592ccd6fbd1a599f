"""Every area has modules, and the tests that it names exist."""

from __future__ import annotations

from tests.mutants.sandbox import PROJECT
from tests.mutants.suites import AREAS, area_of


def test_every_area_has_modules() -> None:
    names = [p.relative_to(PROJECT / "src").as_posix() for p in PROJECT.glob("src/**/*.py")]
    areas = [area.name for name in names if (area := area_of(name)) is not None]
    assert {*areas} == {area.name for area in AREAS}


def test_tests_of_an_area_exist() -> None:
    lost = [path for area in AREAS for path in area.paths if not (PROJECT / path).exists()]
    assert lost == []


def test_column_executors_are_found_beside_record_executors() -> None:
    for name in ("operators/joins/stream_table_join_columns.py", "raw_columns.py"):
        area = area_of(f"penstock/kernel/{name}")
        assert area is not None
        assert area.name == "columns"
    area = area_of("penstock/kernel/operators/joins/stream_table_join.py")
    assert area is not None
    assert area.name == "records"
    assert area_of("penstock/sql/engine.py") is None
