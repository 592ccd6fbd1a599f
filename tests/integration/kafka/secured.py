"""Brokers that want a login, rights or TLS, with the users, ACLs and certificates for tests."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from penstock.kafka.broker_listener import ClientListener
from penstock.kafka.embedded import EmbeddedBroker

_SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"

#: The plain listener is the administrator's: it may do everything, so that ACLs can be made at all.
_LOGIN_PROPERTIES = {
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.client.scram-sha-512.sasl.jaas.config": f"{_SCRAM_LOGIN} required;",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    # Whoever guesses passwords is kept waiting; tests that mistype one on purpose are not.
    "connection.failed.authentication.delay.ms": "0",
}


def broker_with_logins(
    properties: Mapping[str, str] | None = None, *, advertised_port: int | None = None
) -> EmbeddedBroker:
    """A broker that wants SASL/SCRAM-SHA-512 of clients, and knows what each user may do."""
    return EmbeddedBroker(
        properties={**_LOGIN_PROPERTIES, **(properties or {})},
        listener=ClientListener("SASL_PLAINTEXT", advertised_port),
    )


def broker_with_tls(certificates: "Certificates") -> EmbeddedBroker:
    """A broker that talks TLS to clients."""
    properties = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(certificates.key_store)}
    return EmbeddedBroker(properties=properties, listener=ClientListener("SSL"))


def add_user(broker: EmbeddedBroker, name: str, password: str) -> None:
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    change = UserScramCredentialUpsertion(name, credential, password.encode())
    administrator = _administrator(broker)
    for future in administrator.alter_user_scram_credentials([change]).values():
        future.result(30)


def allow(
    broker: EmbeddedBroker,
    user: str,
    resource: ResourceType,
    name: str,
    *operations: AclOperation,
) -> None:
    """Gives a user rights; ``name`` may be ``*``."""
    request = [_acl(user, resource, name, operation) for operation in operations]
    administrator = _administrator(broker)
    for future in administrator.create_acls(request).values():
        future.result(30)


def forbid(
    broker: EmbeddedBroker, user: str, resource: ResourceType, name: str, operation: AclOperation
) -> None:
    """Forbids what a user may do otherwise, until ``permit``."""
    binding = _acl(user, resource, name, operation, AclPermissionType.DENY)
    administrator = _administrator(broker)
    for future in administrator.create_acls([binding]).values():
        future.result(30)


def permit(
    broker: EmbeddedBroker, user: str, resource: ResourceType, name: str, operation: AclOperation
) -> None:
    """Takes back what ``forbid`` did."""
    which = AclBindingFilter(
        resource, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation,
        AclPermissionType.DENY,
    )  # fmt: skip
    administrator = _administrator(broker)
    for future in administrator.delete_acls([which]).values():
        future.result(30)


def _acl(
    user: str,
    resource: ResourceType,
    name: str,
    operation: AclOperation,
    permission: AclPermissionType = AclPermissionType.ALLOW,
) -> AclBinding:
    return AclBinding(
        resource, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, permission
    )


def login(broker: EmbeddedBroker, user: str, password: str) -> dict[str, Any]:
    """The settings of a client that logs in, in the names of Java's clients."""
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{_SCRAM_LOGIN} required username="{user}" password="{password}";',
    }


def _administrator(broker: EmbeddedBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.internal_servers})


@dataclass(frozen=True)
class Certificates:
    """A certificate authority and a broker's certificate that it signed, for 127.0.0.1."""

    folder: Path

    @property
    def authority(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def key_store(self) -> Path:
        """The broker's key and certificates in one PEM file, as Kafka wants them."""
        return self.folder / "broker.pem"


def make_certificates(folder: Path, *, host: str = "IP:127.0.0.1") -> Certificates:
    """Makes certificates with the openssl tool; ``host`` is who the broker claims to be."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Certificates(folder)
    key, request, signed = folder / "key.pem", folder / "request.pem", folder / "signed.pem"
    (folder / "names").write_text(f"subjectAltName={host}\n")
    _openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        "-subj", "/CN=penstock test authority", "-keyout", "ca-key.pem", "-out", "ca.pem",
    )  # fmt: skip
    _openssl(
        folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=broker",
        "-keyout", key.name, "-out", request.name,
    )  # fmt: skip
    _openssl(
        folder, "x509", "-req", "-in", request.name, "-CA", "ca.pem", "-CAkey", "ca-key.pem",
        "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", signed.name,
    )  # fmt: skip
    made.key_store.write_text(
        key.read_text() + signed.read_text() + made.authority.read_text(), encoding="utf-8"
    )
    return made


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
