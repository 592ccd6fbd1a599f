"""Cases that ksqlDB refuses and Penstock accepts on purpose, each with the reason.

An exception excuses nothing else: a case of this list that fails in another way disagrees.
"""

from __future__ import annotations

from collections.abc import Mapping

_FOREIGN_KEY = "accepted here: a join on a foreign key may stand at any place of several joins"

#: What a verdict says of a case that should have been refused.
ACCEPTED = "the statements are accepted, but must be refused"
EXCEPTED: Mapping[tuple[str, str], str] = {
    ("fk-n-way-join.json", "Should fail as second step in n-way join"): _FOREIGN_KEY,
    (
        "fk-n-way-join.json",
        "Should fail as second step in n-way join with fk join as first step",
    ): _FOREIGN_KEY,
    ("group-by.json", "windowed join with window bounds"): (
        "accepted here: a SELECT may use the window bounds of an aggregation over a join"
    ),
    ("joins.json", "self join"): "accepted here: a source may be joined with itself",
    ("multi-col-keys.json", "join on multi-column key"): (
        "accepted here: a join may compare all columns of a key"
    ),
}


def reason_for(file: str, name: str, problems: list[str]) -> str | None:
    """Return why a case may disagree; None if it agrees or must not."""
    return EXCEPTED.get((file, name)) if problems == [ACCEPTED] else None
