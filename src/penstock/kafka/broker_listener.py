"""Where a broker listens, for clients and for itself, as settings of the broker."""

from __future__ import annotations

from dataclasses import dataclass

HOST = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ClientListener:
    """How clients reach a broker that wants a login or TLS, or that stands behind a proxy.

    The broker keeps a second, plain listener on loopback for itself. An administrator who may do
    everything reaches it there: the first users and ACLs have to come from somewhere.

    Args:
        protocol: the ``security.protocol`` of clients. What it needs, such as a key store or
            ``sasl.enabled.mechanisms``, are properties of the broker.
        advertised_port: the port that clients are told, such as a proxy's; None is the broker's.
    """

    protocol: str = "PLAINTEXT"
    advertised_port: int | None = None


def plain_listeners(port: int, controller: int) -> dict[str, str]:
    """Return the settings of a broker that everybody on this machine can use."""
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
