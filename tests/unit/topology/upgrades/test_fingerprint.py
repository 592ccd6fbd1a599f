"""Fingerprints survive the way to Kafka and back."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.topology.upgrades.fingerprint import (
    Line,
    PlanFingerprint,
    Rule,
    Section,
    strictest,
)

rules = st.sampled_from(Rule)
texts = st.text(max_size=9)
sections = st.builds(
    Section,
    texts,
    st.lists(st.builds(Line, texts, rules), max_size=4).map(tuple),
    st.none() | rules,
    rules,
    st.lists(texts, max_size=2).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
)
plans = st.builds(
    PlanFingerprint,
    st.lists(sections, max_size=3).map(tuple),
    st.lists(texts, max_size=2).map(tuple),
    texts,
    orphans=st.lists(sections, max_size=2).map(tuple),
)


@given(plans)
def test_fingerprint_comes_back_as_it_was(plan: PlanFingerprint) -> None:
    """What is compared with must be what was written."""
    assert PlanFingerprint.from_json(plan.to_json()) == plan


def test_strictest_rule_wins() -> None:
    """Without any rule nothing is forbidden."""
    assert strictest() is Rule.FREE
    assert strictest(Rule.REPLACE, Rule.FREE) is Rule.REPLACE
    assert strictest(Rule.REPLACE, Rule.FIXED, Rule.FREE) is Rule.FIXED
