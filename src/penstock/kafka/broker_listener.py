"""Listeners of a broker, for clients and for itself, as settings of the broker."""

from __future__ import annotations

from dataclasses import dataclass

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ClientListener:
    """How clients reach a broker with a login or TLS, or behind a proxy.

    The broker has a second, plain listener on loopback for itself. An administrator with all
    rights uses it to create the first users and ACLs.

    Args:
        protocol: the ``security.protocol`` of clients. A key store, ``sasl.enabled.mechanisms``
            and so on are properties of the broker.
        advertised_port: the port for clients, such as that of a proxy; None is the broker's.
    """

    protocol: str = "PLAINTEXT"
    advertised_port: int | None = None


def plain_listeners(port: int, controller: int) -> dict[str, str]:
    """Return the settings of a broker without login, for all programs on this machine."""
    return {
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }


def client_listeners(
    listener: ClientListener, port: int, internal: int, controller: int
) -> dict[str, str]:
    """Return the settings of a broker with one listener for clients and one for itself."""
    inside = f"INTERNAL://{HOST}:{internal}"
    advertised = listener.advertised_port or port
    return {
        "listeners": f"{inside},CLIENT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
        "advertised.listeners": f"{inside},CLIENT://{HOST}:{advertised}",
        "listener.security.protocol.map": "INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        f"CLIENT:{listener.protocol}",
        "inter.broker.listener.name": "INTERNAL",
    }
