"""The fingerprint of a plan: in words, what each piece of its state means.

It is kept beside the state in Kafka. ``upgrades.comparison`` finds out what changed between two,
``upgrades.settle`` decides whether the state can be used. A fingerprint is text and not a hash, so
that a refusal can say what changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

#: Another version of the texts is not compared: its state is accepted once, as if it had none.
VERSION = 1
#: Short enough to copy by hand. It tells plans of one application apart and is not a secret.
_DIGEST_LENGTH = 12


class Rule(StrEnum):
    """What a changed line does to the state that was made with the old one."""

    #: The state stays right: the change holds for records from now on.
    FREE = "free"
    #: The state keeps what the old line made. A person has to say that this is wanted: with CREATE
    #: OR REPLACE in SQL, by accepting the plan of a program.
    REPLACE = "replace"
    #: The state is wrong or cannot be read, whatever a person says.
    FIXED = "fixed"


_STRICTNESS = {Rule.FREE: 0, Rule.REPLACE: 1, Rule.FIXED: 2}


def strictest(*rules: Rule) -> Rule:
    return max(rules, key=_STRICTNESS.__getitem__, default=Rule.FREE)


@dataclass(frozen=True, slots=True)
class Line:
    """One fact about a plan, and what it means when it changes."""

    text: str
    rule: Rule = Rule.FIXED


@dataclass(frozen=True, slots=True)
class Section:
    """The facts about one store, one sink, or the rest of a query.

    ``growth`` is the rule for lines that are added at the end; if it is None, they have their own
    rule. ``presence`` is the rule for a section that is added or removed. ``topics`` are the topics
    that fill a store: a store that is added later misses their earlier records. ``nodes`` are the
    nodes that fill it. Their names are not compared, but clocks are saved under them. ``formats``
    are the serdes of those topics: a topic may be exchanged for one that is read in the same way.
    """

    name: str
    lines: tuple[Line, ...]
    growth: Rule | None = None
    presence: Rule = Rule.FIXED
    topics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()

    @property
    def texts(self) -> list[str]:
        return [line.text for line in self.lines]

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "lines": [[line.text, line.rule.value] for line in self.lines],
            "growth": None if self.growth is None else self.growth.value,
            "presence": self.presence.value,
            "topics": list(self.topics),
            "nodes": list(self.nodes),
            "formats": list(self.formats),
        }

    @staticmethod
    def from_dict(read: Mapping[str, Any]) -> Section:
        return Section(
            read["name"],
            tuple(Line(text, Rule(rule)) for text, rule in read["lines"]),
            None if read["growth"] is None else Rule(read["growth"]),
            Rule(read["presence"]),
            tuple(read["topics"]),
            tuple(read["nodes"]),
            # Fingerprints of earlier versions do not have them.
            tuple(read.get("formats", ())),
        )


@dataclass(frozen=True, slots=True)
class Statement:
    """What SQL says about the query behind a topology.

    ``replaces`` marks CREATE OR REPLACE. ``is_one_of_several`` marks an INSERT INTO without a
    name of its own, beside others that read and write the same: only its text tells it from them.
    """

    sql: str
    sections: tuple[Section, ...]
    replaces: bool = False
    is_one_of_several: bool = False


@dataclass(frozen=True, slots=True)
class PlanFingerprint:
    """Everything about a plan that its state depends on.

    ``sql`` is the statement, empty for a program. ``topics`` are the topics that it reads.
    ``orphans`` are stores of earlier plans: their changelogs stay, and miss what came since.
    """

    sections: tuple[Section, ...]
    topics: tuple[str, ...] = ()
    sql: str = ""
    replaces: bool = False
    is_one_of_several: bool = False
    orphans: tuple[Section, ...] = ()

    @property
    def by_name(self) -> dict[str, Section]:
        return {section.name: section for section in self.sections}

    @property
    def digest(self) -> str:
        """The name by which a person accepts this plan; it changes with every fact of it.

        Orphans and names of nodes are left out: they say where state is kept, not what it means.
        """
        facts = [[section.name, *section.texts] for section in self.sections]
        text = json.dumps(sorted(facts), ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]

    def to_json(self) -> bytes:
        """Return the form that is stored; how a statement asks for a change is not kept."""
        told = {
            "version": VERSION,
            "sql": self.sql,
            "topics": list(self.topics),
            "sections": [section.to_dict() for section in self.sections],
            "orphans": [section.to_dict() for section in self.orphans],
        }
        return json.dumps(told, ensure_ascii=False).encode()

    @staticmethod
    def from_json(data: bytes) -> PlanFingerprint | None:
        """Read a stored fingerprint; None stands for one of another version."""
        read = json.loads(data)
        if read.get("version") != VERSION:
            return None
        return PlanFingerprint(
            tuple(map(Section.from_dict, read["sections"])),
            tuple(read["topics"]),
            read["sql"],
            orphans=tuple(map(Section.from_dict, read["orphans"])),
        )
