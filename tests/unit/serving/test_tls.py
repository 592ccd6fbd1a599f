"""Servers that speak TLS, also to each other."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("granian", reason="needs penstock-streams[server]")
pytest.importorskip("cryptography", reason="makes the certificates")

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from penstock.config import StreamsConfig
from penstock.errors import ConfigError
from penstock.serving.application import Instance, Row
from penstock.serving.options import ServerOptions, Tls
from penstock.serving.server import ServingServer
from tests.unit.serving.memory_application import Cluster, MemoryApplication, store_info


def certificate(folder: Path) -> Tls:
    """Make a certificate of this machine that is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "penstock test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(made.public_bytes(pem))
    form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(pem, form, secret))
    locked = serialization.BestAvailableEncryption(b"hunter2")
    (folder / "locked.pem").write_bytes(key.private_bytes(pem, form, locked))
    pem_file = folder / "cert.pem"
    return Tls(certificate=pem_file, key=folder / "key.pem", ca=pem_file)


def get(port: int, path: str, tls: Tls) -> tuple[int, Any]:
    context = ssl.create_default_context(cafile=str(tls.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def test_instances_speak_tls_to_callers_and_to_each_other(tmp_path: Path) -> None:
    tls = certificate(tmp_path)
    cluster = Cluster({"counts": store_info("counts")})
    cluster.put("counts", Row("ann", 7))
    for name in ("one", "two"):
        cluster.instances[name] = Instance(id=name)
    cluster.give("two")
    options = ServerOptions(tls=tls)
    with (
        ServingServer(MemoryApplication(cluster, "one"), options) as one,
        ServingServer(MemoryApplication(cluster, "two"), options) as two,
    ):
        assert one.url.startswith("https://")
        cluster.instances["two"] = Instance(id="two", address=f"127.0.0.1:{two.port}")
        status, body = get(one.port, "/stores/counts/ann", tls)
        assert (status, body["value"], body["source"]["instance"]) == (200, 7, "two")
        plain = http.client.HTTPConnection("127.0.0.1", one.port, timeout=5)
        plain.request("GET", "/stores")
        with pytest.raises((http.client.HTTPException, OSError)):
            plain.getresponse()
        plain.close()


def test_an_instance_with_another_certificate_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    ours, theirs = certificate(tmp_path / "a"), certificate(tmp_path / "b")
    cluster = Cluster({"counts": store_info("counts")})
    cluster.put("counts", Row("ann", 7))
    for name in ("one", "two"):
        cluster.instances[name] = Instance(id=name)
    cluster.give("two")
    with (
        ServingServer(MemoryApplication(cluster, "one"), ServerOptions(tls=ours)) as one,
        ServingServer(MemoryApplication(cluster, "two"), ServerOptions(tls=theirs)) as two,
    ):
        cluster.instances["two"] = Instance(id="two", address=f"127.0.0.1:{two.port}")
        status, body = get(one.port, "/stores/counts/ann", ours)
        assert (status, body["code"]) == (503, "instance-unreachable")


@pytest.mark.parametrize(("key", "why"), [("locked", "password"), ("other", "belong together")])
def test_keys_that_the_server_cannot_use_are_refused(tmp_path: Path, key: str, why: str) -> None:
    (tmp_path / "a").mkdir()
    tls, other = certificate(tmp_path), certificate(tmp_path / "a")
    files = {"locked": tmp_path / "locked.pem", "other": other.key}
    config = {
        "application.server": "localhost:1",
        "penstock.server.tls.certificate": str(tls.certificate),
        "penstock.server.tls.key": str(files[key]),
    }
    with pytest.raises(ConfigError, match=why):
        ServerOptions.of(StreamsConfig(config))
