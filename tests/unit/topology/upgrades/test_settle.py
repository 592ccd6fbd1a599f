"""Whether a plan may go on with the state that it finds."""

import json
import logging

import pytest

from penstock.errors import TopologyError
from penstock.topology.upgrades.fingerprint import Line, PlanFingerprint, Rule, Section
from penstock.topology.upgrades.settle import Settlement, settle


def query(*lines: Line, replaces: bool = False) -> PlanFingerprint:
    return PlanFingerprint((Section("query", lines),), sql="CREATE …", replaces=replaces)


OLD = query(Line("WHERE A > 1", Rule.REPLACE)).to_json()


def settled(stored: bytes | None, new: PlanFingerprint, *, has_state: bool = True) -> Settlement:
    return settle(stored, new, application_id="app", has_state=has_state)


def test_same_plan_has_nothing_to_write() -> None:
    """The fingerprint is written when it changes, and not at every start."""
    found = settled(OLD, query(Line("WHERE A > 1", Rule.REPLACE)))
    assert (found.changes, found.must_write) == ((), False)


def test_replaceable_change_needs_or_replace() -> None:
    """A plain CREATE is refused with that way out; CREATE OR REPLACE writes the new plan."""
    line = Line("WHERE A > 2", Rule.REPLACE)
    with pytest.raises(TopologyError) as caught:
        settled(OLD, query(line))
    assert "- WHERE A > 1" in str(caught.value)
    assert "+ WHERE A > 2" in str(caught.value)
    assert "write CREATE OR REPLACE" in str(caught.value.fix)
    found = settled(OLD, query(line, replaces=True))
    assert found.must_write
    assert settled(found.fingerprint.to_json(), query(line)).changes == ()


def test_or_replace_is_not_offered_where_it_would_be_refused() -> None:
    """A fixed line among the changed ones rules it out."""
    with pytest.raises(TopologyError) as caught:
        settled(OLD, query(Line("GROUP BY A")))
    assert "OR REPLACE" not in str(caught.value.fix)
    assert "ksql.service.id" in str(caught.value.fix)


def test_free_change_is_logged_and_written(caplog: pytest.LogCaptureFixture) -> None:
    """Whoever wonders about other rows finds the change in the log."""
    found = settled(query(Line("WHERE A", Rule.FREE)).to_json(), query(Line("WHERE B", Rule.FREE)))
    assert found.must_write
    assert "+ WHERE B" in caplog.text


@pytest.mark.parametrize("stored", [None, json.dumps({"version": 0}).encode()])
def test_state_of_an_older_version_is_accepted_once(
    stored: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """There is nothing to compare with, and the log says so."""
    caplog.set_level(logging.WARNING)
    found = settled(stored, query(Line("GROUP BY A")))
    assert found.must_write
    assert "no fingerprint that this version can read" in caplog.text
    with pytest.raises(TopologyError):
        settled(found.fingerprint.to_json(), query(Line("GROUP BY B")))


def test_application_that_never_ran_is_not_worth_a_word(caplog: pytest.LogCaptureFixture) -> None:
    """There is no state that could be wrong."""
    settled(None, query(Line("GROUP BY A")), has_state=False)
    assert caplog.text == ""
