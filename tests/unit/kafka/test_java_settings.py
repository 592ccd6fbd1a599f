import pytest

from penstock.errors import ConfigError
from penstock.kafka.java_settings import for_librdkafka


def test_java_names_become_librdkafkas() -> None:
    """Who copies a Java configuration need not learn other names."""
    java = {"request.timeout.ms": 100, "fetch.max.wait.ms": 50, "max.request.size": 2048}
    assert for_librdkafka(java, "producer") == {
        "socket.timeout.ms": 100,
        "fetch.wait.max.ms": 50,
        "message.max.bytes": 2048,
    }


def test_names_of_librdkafka_pass_unchanged() -> None:
    """Nothing that librdkafka can do is out of reach."""
    own = {"queued.min.messages": 1_000_000, "log_level": 3, "made.up": "x"}
    assert for_librdkafka(own, "consumer") == own


def test_settings_without_counterpart_are_left_out() -> None:
    """librdkafka refuses names it does not know; a Java class means nothing to it."""
    java = {"max.poll.records": 5, "key.deserializer": "org.apache…", "metric.reporters": ""}
    assert for_librdkafka(java, "consumer") == {}


def test_settings_of_other_clients_are_left_out() -> None:
    """One configuration serves all clients, as in Kafka Streams."""
    shared = {"session.timeout.ms": 6000, "transaction.timeout.ms": 9000}
    assert for_librdkafka(shared, "consumer") == {"session.timeout.ms": 6000}
    assert for_librdkafka(shared, "producer") == {"transaction.timeout.ms": 9000}
    assert for_librdkafka(shared, "admin") == {}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("bootstrap.servers", ["a:1", "b:2"], {"bootstrap.servers": "a:1,b:2"}),
        ("auto.offset.reset", "none", {"auto.offset.reset": "error"}),
        ("group.protocol", "streams", {"group.protocol": "classic"}),
        ("buffer.memory", 65536, {"queue.buffering.max.kbytes": 64}),
        ("receive.buffer.bytes", -1, {"socket.receive.buffer.bytes": 0}),
        ("retry.backoff.ms", 0, {"retry.backoff.ms": 1}),
        ("metadata.recovery.strategy", "none", {"metadata.recovery.strategy": "none"}),
        ("enable.auto.commit", False, {"enable.auto.commit": "false"}),
        ("ssl.truststore.location", "/etc/ca.pem", {"ssl.ca.location": "/etc/ca.pem"}),
        ("ssl.keystore.location", "/k.p12", {"ssl.keystore.location": "/k.p12"}),
        (
            "ssl.endpoint.identification.algorithm",
            "",
            {"ssl.endpoint.identification.algorithm": "none"},
        ),
        (
            "partition.assignment.strategy",
            "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        (
            "sasl.jaas.config",
            'org.apache.kafka…PlainLoginModule required username="u" password="p w";',
            {"sasl.username": "u", "sasl.password": "p w"},
        ),
        (
            "sasl.jaas.config",
            "…ScramLoginModule required username='u' password='a\"b' tokenauth=true;",
            {"sasl.username": "u", "sasl.password": 'a"b'},
        ),
        (
            "sasl.jaas.config",
            '…ScramLoginModule required username=u password="back\\\\slash \\"quoted\\"=;";',
            {"sasl.username": "u", "sasl.password": 'back\\slash "quoted"=;'},
        ),
    ],
)  # fmt: skip
def test_values_are_translated_too(name: str, value: object, expected: dict[str, object]) -> None:
    """Some values have another spelling, or become two settings."""
    assert for_librdkafka({name: value}, "consumer") == expected


def test_type_of_a_store_counts_more_than_the_name_of_its_file() -> None:
    """Java goes by the type; a file may be called anything."""
    pem = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/etc/trust"}
    assert for_librdkafka(pem, "consumer") == {"ssl.ca.location": "/etc/trust"}
    keys = {"ssl.keystore.location": "/etc/keys", "ssl.keystore.type": "PEM"}
    assert for_librdkafka(keys, "consumer") == {
        "ssl.certificate.location": "/etc/keys",
        "ssl.key.location": "/etc/keys",
    }
    with pytest.raises(ConfigError, match="only Java can read"):
        for_librdkafka(pem | {"ssl.truststore.type": "JKS"}, "consumer")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("ssl.truststore.location", "/etc/trust.jks", "java-trust-store"),
        ("ssl.keystore.location", "/etc/keys.jks", "java-key-store"),
        ("sasl.jaas.config", "com.sun.security.auth.module.Krb5LoginModule required;", "bad-login"),
    ],
)
def test_secrets_that_only_java_reads_are_refused(name: str, value: str, code: str) -> None:
    """Leaving out a secret in silence would look like a network problem."""
    with pytest.raises(ConfigError) as raised:
        for_librdkafka({name: value}, "consumer")
    assert raised.value.code == code
    assert raised.value.fix
