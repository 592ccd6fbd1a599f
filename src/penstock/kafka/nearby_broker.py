"""The broker of this folder: that of the project, or the private one of a running program."""

from __future__ import annotations

from penstock.kafka.broker_registry import find_project_broker, running_project_broker
from penstock.kafka.errors import BrokerError
from penstock.kafka.private_brokers import running_private_broker


def nearby_broker() -> str:
    """Return the address of this folder's broker, which runs already.

    It is the broker that ``penstock broker start`` started for the project, else the private one of
    a program that ``penstock run`` runs here.

    Raises:
        BrokerError: ``no-broker``.
    """
    servers = running_project_broker() or running_private_broker()
    if servers is not None:
        return servers
    folder = find_project_broker()
    why = (
        "this project has none" if folder is None else f"the one in {str(folder.root)!r} is stopped"
    )
    raise BrokerError(
        "no-broker",
        f"no broker was named, {why}, and no program runs here with a private one",
        fix="start one with: penstock broker start, or name one with --bootstrap HOST:PORT"
        " (bootstrap_servers= in Python)",
    )
