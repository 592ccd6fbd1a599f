"""What changed between two fingerprints."""

from penstock.topology.upgrades.comparison import Change, changes_between
from penstock.topology.upgrades.fingerprint import Line, PlanFingerprint, Rule, Section


def plan(*lines: Line, **given: Rule) -> PlanFingerprint:
    return PlanFingerprint((Section("query", lines, **given),))


A, B, C = Line("a"), Line("b", Rule.REPLACE), Line("c", Rule.FREE)


def test_change_has_the_strictest_rule_of_its_lines() -> None:
    """One fixed line among free ones decides."""
    (change,) = changes_between(plan(C), plan(A))
    assert change == Change("query", ("c",), ("a",), Rule.FIXED)
    (change,) = changes_between(plan(A, B), plan(A, C))
    assert change.rule is Rule.REPLACE


def test_lines_at_the_end_can_have_a_rule_of_their_own() -> None:
    """Columns may be added behind the others where they may not change."""
    assert changes_between(plan(A), plan(A, A, growth=Rule.FREE))[0].rule is Rule.FREE
    assert changes_between(plan(A), plan(A, A))[0].rule is Rule.FIXED
    assert changes_between(plan(A), plan(Line("x"), A, growth=Rule.FREE))[0].rule is Rule.FIXED


def test_lines_that_moved_are_shown_in_both_orders() -> None:
    """A single line that goes here and comes there would not say what happened."""
    (change,) = changes_between(plan(A, B, C), plan(C, B, A))
    assert (change.removed, change.added) == (("a", "b", "c"), ("c", "b", "a"))


def test_section_that_comes_or_goes_follows_its_presence() -> None:
    """A store of a program may go, one of a query may not."""
    nothing = PlanFingerprint(())
    assert changes_between(plan(A), nothing)[0].rule is Rule.FIXED
    assert changes_between(plan(A, presence=Rule.FREE), nothing)[0].rule is Rule.FREE
    assert changes_between(nothing, plan(A))[0].note == "added"


def test_words_have_old_lines_before_new_ones() -> None:
    """As a patch has them."""
    change = Change("query", ("WHERE A > 1",), ("WHERE A > 2",), Rule.FIXED)
    assert change.words() == ["query:", "  - WHERE A > 1", "  + WHERE A > 2"]


def test_one_of_several_may_be_another_one() -> None:
    """Without a change it is the one that it was."""
    new = PlanFingerprint(plan(C).sections, is_one_of_several=True)
    assert changes_between(plan(C), new) == ()
    changed = PlanFingerprint(plan(Line("d", Rule.FREE)).sections, is_one_of_several=True)
    assert [change.rule for change in changes_between(plan(C), changed)] == [Rule.FREE, Rule.FIXED]
