"""The faults that are found in a module, and what they change."""

from __future__ import annotations

import ast

import pytest

from tests.mutants.faults import Fault, find_faults
from tests.mutants.survivors import difference, entry, reasons, stale


def planted(body: str) -> set[tuple[str, str]]:
    """Return the kind of every fault in a function, and the source with it."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = f"def function(a, b):\n{lines}"
    faults = find_faults(source, "penstock.module")
    return {(fault.kind, fault.planted_in(source).split("\n", 1)[1].strip()) for fault in faults}


@pytest.mark.parametrize(
    ("body", "kind", "faulty"),
    [
        ("return a < b", "comparison", "return (a <= b)"),
        ("return a < b", "comparison", "return (a >= b)"),
        ("return a < b <= 3", "comparison", "return (a < b < 3)"),
        ("return a is None", "comparison", "return (a is not None)"),
        ("return a and b", "boolean operator", "return (a or b)"),
        ("return a + b", "arithmetic", "return (a - b)"),
        ("return -a", "arithmetic", "return (a)"),
        ("a += b", "arithmetic", "a -= b"),
        ("return not a", "not", "return (a)"),
        ("return 1 if a else 2", "not", "return 1 if (not a) else 2"),
        ("return [c for c in a if b]", "not", "return [c for c in a if (not b)]"),
        ("return 7", "constant", "return 8"),
        ("return 7", "constant", "return (6)"),
        ("return True", "constant", "return False"),
        ("a.b = 1", "removed statement", "pass"),
        ("a(b)", "removed statement", "pass"),
        ("raise a", "removed statement", "pass"),
        ("return a", "early return", "return None"),
        ("a(b)\nb(a)", "early return", "a(b)\n    return None"),
        ("for c in a: continue", "early return", "for c in a: break"),
        ("return a[b:]", "off by one", "return a[(b + 1):]"),
        ("return range(a)", "off by one", "return range((a + 1))"),
    ],
)
def test_kinds_of_faults(body: str, kind: str, faulty: str) -> None:
    assert (kind, faulty) in planted(body)


@pytest.mark.parametrize(
    "body",
    [
        "'''A docstring.'''",
        "log.debug('%s', a > b)",
        "assert a > b",
        "c: list[int]",
        "return f'{a > 1}'",
        "return zip(a, b, strict=True)",
    ],
)
def test_what_nobody_could_notice_stays_whole(body: str) -> None:
    """Logs, texts, assertions and annotations; to return None is a fault of its own."""
    assert {kind for kind, _ in planted(body)} <= {"early return"}


SOURCE = """import other


class First:
    size = 3

    def method(self, über: str) -> "int":
        x = "ä"; return len(über) + 1

    def method_of_closures(self):
        return lambda: self.size > 1
"""


def test_every_fault_leaves_a_module_that_compiles_and_differs() -> None:
    """Also after characters that take several bytes."""
    faults = find_faults(SOURCE, "penstock.module")
    assert len({fault.id for fault in faults}) == len(faults) > 6
    for fault in faults:
        assert ast.dump(ast.parse(fault.planted_in(SOURCE))) != ast.dump(ast.parse(SOURCE))


def found(change: str) -> Fault:
    return next(f for f in find_faults(SOURCE, "penstock.module") if f.change == change)


def test_a_fault_knows_where_it_is() -> None:
    fault = found("self.size > 1 -> (self.size >= 1)")
    assert (fault.function, fault.outermost) == ("First.method_of_closures",) * 2
    assert (fault.line, fault.number) == ("return lambda: self.size > 1", 11)
    assert found("3 -> 4").outermost == ""


def test_an_id_outlives_changes_elsewhere() -> None:
    moved = SOURCE.replace("import other\n", "import other\nimport another\n\n")
    before = {fault.id for fault in find_faults(SOURCE, "penstock.module")}
    assert {fault.id for fault in find_faults(moved, "penstock.module")} == before


def test_an_entry_can_be_read_back(tmp_path) -> None:
    """Whatever quotes the line has."""
    source = "def f(a):\n    return a['x'] + \"y\" + 1\n"
    faults = find_faults(source, "penstock.module")
    file = tmp_path / "survivors.toml"
    file.write_text("\n".join(map(entry, faults)), encoding="utf-8")
    assert [*reasons(file)] == [fault.id for fault in faults]


def test_a_difference_names_the_file_and_both_lines() -> None:
    text = difference(found("3 -> 4"), "penstock/module.py", SOURCE)
    assert text.startswith("--- a/src/penstock/module.py\n")
    assert "\n-    size = 3\n+    size = 4\n" in text


def test_survivors_whose_lines_have_changed_are_stale() -> None:
    faults = find_faults(SOURCE, "penstock.module")
    gone = ("penstock.module", "gone", "constant", "x = 1", "1 -> 2")
    assert stale([faults[0].id, gone], faults) == [gone]


def test_every_known_survivor_has_a_reason() -> None:
    assert [key for key, reason in reasons().items() if len(reason) < 20] == []
