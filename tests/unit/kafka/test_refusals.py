import pytest
from confluent_kafka import KafkaError

from penstock.kafka.refusals import Right, refused, user_of

VERIFY = (
    "ssl://host:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate"
    " verify failed: broker certificate could not be verified (after 151ms in state SSL_HANDSHAKE)"
)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"security.protocol": "SASL_SSL", "sasl.username": "ann"}, "ann"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanism": "GSSAPI"}, None),
        ({"security.protocol": "SSL", "ssl.certificate.location": "/c.pem"}, None),
        ({"security.protocol": "SSL"}, "ANONYMOUS"),
        ({}, "ANONYMOUS"),
    ],
)
def test_user_is_known_where_the_client_names_it(
    settings: dict[str, str], expected: str | None
) -> None:
    """Kerberos and certificates name the user, and only the broker reads them."""
    assert user_of(settings) == expected


def test_missing_right_is_named_with_the_command_that_gives_it() -> None:
    """Who reads it may have to ask somebody else to run the command."""
    error = refused(
        KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED),
        "create topic 'orders'",
        user="ann",
        needs=Right("Create", "topic", "orders"),
    )
    assert error.code == "not-allowed"
    assert error.message == (
        "cannot create topic 'orders': the cluster refused user 'ann':"
        " the right Create on topic 'orders' is missing"
    )
    assert error.fix is not None
    assert "--allow-principal User:ann --operation Create --topic orders" in error.fix


def test_right_that_is_not_the_missing_one_is_not_named() -> None:
    """Reading a group's offsets takes rights to the group and to its topics."""
    error = refused(
        KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "x", needs=Right("Read", "group", "g")
    )
    assert error.message == (
        "cannot x: the cluster refused the user of this client: the user has no right to the topic"
    )
    assert error.fix is not None
    assert "--operation … --topic …" in error.fix


def test_failed_tls_connection_names_the_broker_and_the_setting() -> None:
    """A certificate that is not trusted must not read like a broker that is away."""
    error = refused(KafkaError(KafkaError._SSL, VERIFY), "list topics")
    assert error.code == "tls-failed"
    assert "to the broker at host:9093: SSL handshake failed" in error.message
    assert "151ms" not in error.message
    assert "ssl.truststore.location" in str(error.fix)
