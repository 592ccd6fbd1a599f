"""The JSON of plans: what runs, and what a new version would do to its state."""

from __future__ import annotations

from msgspec import Struct


class SectionModel(Struct, frozen=True):
    """The facts about one store, one sink, or the rest of a query."""

    name: str
    lines: list[str]


class PlanModel(Struct, frozen=True):
    """The plan of the version that runs."""

    application: str
    #: The name by which a person accepts a plan.
    plan: str
    #: The statement of a query; empty for a program.
    sql: str
    topics: list[str]
    sections: list[SectionModel]


class PlanChangeModel(Struct, frozen=True):
    """Lines of one section that go, and the lines in their place."""

    removed: list[str]
    added: list[str]
    note: str


class PlanPartModel(Struct, frozen=True):
    """A store, a sink or a query, and what a start of the new version would do to it."""

    name: str
    #: unchanged, added, changed, removed, accepted or refused
    status: str
    changes: list[PlanChangeModel]


class PlanReportModel(Struct, frozen=True):
    """What ``penstock plan --json`` says of one application."""

    name: str
    application_id: str
    status: str
    running: bool
    note: str
    fix: str | None
    plan: str
    acceptable: bool
    parts: list[PlanPartModel]
