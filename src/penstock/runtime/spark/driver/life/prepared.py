"""What an instance has when its topics are there and other instances know it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.runtime.spark.driver.instances.instance import Instance
from penstock.runtime.spark.driver.instances.membership import GroupMember
from penstock.runtime.spark.exchange.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Observing:
    """An instance that can keep copies of stores and answer from them."""

    plan: Plan
    instance: Instance


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Observing):
    """An instance that leads as soon as it is its turn, and keeps copies until then."""

    member: GroupMember
