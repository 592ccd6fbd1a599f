"""Brokers with logins, ACLs or TLS: what works, and the error messages when it does not.

Exercises ``broker_listener``.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation, ResourceType

from penstock.config import StreamsConfig
from penstock.kafka.admin import Admin
from penstock.kafka.client_config import admin_settings, consumer_settings, producer_settings
from penstock.kafka.clients import new_consumer, new_producer, reported_errors
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.error_table import Verdict, verdict
from penstock.kafka.errors import KafkaRequestError
from tests.integration.kafka.secured import (
    Certificates,
    add_user,
    allow,
    broker_with_logins,
    broker_with_tls,
    login,
    make_certificates,
)

pytestmark = pytest.mark.kafka

#: Enough for a broker under load; a refusal is noticed long before.
PATIENT_S = 30.0


@pytest.fixture(scope="module")
def login_broker(needs_java: None) -> Iterator[EmbeddedBroker]:
    """Knows ann, who may use topic ``hers`` and group ``hers``, and nothing else."""
    with broker_with_logins() as broker:
        owner = Admin({"bootstrap.servers": broker.internal_servers})
        for topic in ("hers", "hidden"):
            owner.create_topic(topic)
        add_user(broker, "ann", "s3cret")
        for resource in (ResourceType.TOPIC, ResourceType.GROUP):
            allow(broker, "ann", resource, "hers", AclOperation.ALL)
        yield broker


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("trusted"))


@pytest.fixture(scope="module")
def tls_broker(needs_java: None, certificates: Certificates) -> Iterator[EmbeddedBroker]:
    with broker_with_tls(certificates) as broker:
        Admin({"bootstrap.servers": broker.internal_servers}).create_topic("hers")
        yield broker


def application(settings: dict[str, Any]) -> StreamsConfig:
    return StreamsConfig({"application.id": "hers", **settings})


def new_admin(settings: dict[str, Any]) -> Admin:
    return Admin(admin_settings(application(settings)), timeout_s=PATIENT_S)


def refusal(call: Callable[[], object]) -> KafkaRequestError:
    with pytest.raises(KafkaRequestError) as raised:
        call()
    return raised.value


def round_trip(settings: dict[str, Any]) -> bytes | None:
    """Writes a record, reads it back and commits it, with clients of an application."""
    config = application(settings)
    producer = new_producer(producer_settings(config))
    delivered: list[int | None] = []
    producer.produce(
        "hers", b"hello", on_delivery=lambda _, message: delivered.append(message.offset())
    )
    assert producer.flush(PATIENT_S) == 0
    consumer = new_consumer(consumer_settings(config))
    consumer.assign([TopicPartition("hers", 0, delivered[0] or 0)])
    message = consumer.poll(PATIENT_S)
    assert message is not None
    assert message.error() is None
    consumer.commit(message=message, asynchronous=False)
    consumer.close()
    return message.value()


def test_settings_of_a_java_client_log_in(login_broker: EmbeddedBroker) -> None:
    """The names of Kafka Streams carry over: mechanism and JAAS text with user and password."""
    settings = login(login_broker, "ann", "s3cret")
    assert round_trip(settings) == b"hello"
    admin = new_admin(settings)
    assert list(admin.topics()) == ["hers"]
    assert admin.group_offsets("hers", [("hers", 0)]).keys() == {("hers", 0)}


@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("nobody", "s3cret")])
def test_wrong_login_is_not_called_an_unreachable_broker(
    login_broker: EmbeddedBroker, user: str, password: str
) -> None:
    """The call only times out; the reason is reported beside it, and the error names the user."""
    admin = new_admin(login(login_broker, user, password))
    error = refusal(admin.topics)
    assert error.code == "not-allowed"
    address = login_broker.bootstrap_servers
    assert f"the broker at {address} refused user {user!r}: SASL auth" in error.message
    assert "sasl.jaas.config" in str(error.fix)


def test_mechanism_that_the_broker_does_not_offer_is_named(login_broker: EmbeddedBroker) -> None:
    """The broker says which mechanisms it has."""
    settings = login(login_broker, "ann", "s3cret") | {"sasl.mechanism": "SCRAM-SHA-256"}
    error = refusal(new_admin(settings).topics)
    assert error.code == "not-allowed"
    assert "broker's supported mechanisms: SCRAM-SHA-512" in error.message


def test_producer_and_consumer_report_a_wrong_password(login_broker: EmbeddedBroker) -> None:
    """A running application sees the verdict beside calls that merely time out."""
    config = application(login(login_broker, "ann", "wrong"))
    producer = new_producer({**producer_settings(config), "message.timeout.ms": 2000})
    failed: list[KafkaError | None] = []
    producer.produce("hers", b"x", on_delivery=lambda error, _: failed.append(error))
    producer.flush(PATIENT_S)
    consumer = new_consumer(consumer_settings(config))
    consumer.assign([TopicPartition("hers", 0, 0)])
    consumer.poll(2)
    consumer.close()
    assert failed[0] is not None
    assert verdict(failed[0]) is Verdict.WAIT
    for client in (producer, consumer):
        reported = reported_errors(client).refusal
        assert reported is not None
        assert reported.code() == KafkaError._AUTHENTICATION


def test_hidden_topic_is_not_called_missing(login_broker: EmbeddedBroker) -> None:
    """Without the right to describe it, a topic is left out of the list."""
    admin = new_admin(login(login_broker, "ann", "s3cret"))
    for call in (
        lambda: admin.topic("hidden"),
        lambda: admin.end_offsets([("hidden", 0)]),
        lambda: admin.topic_config("hidden"),
    ):
        error = refusal(call)
        assert error.code == "not-allowed"
        assert (
            "refused user 'ann': the right Describe on topic 'hidden' is missing" in error.message
        )


def test_missing_right_of_a_request_is_named(login_broker: EmbeddedBroker) -> None:
    """With the command that gives it."""
    admin = new_admin(login(login_broker, "ann", "s3cret"))
    cases: list[tuple[str, Callable[[], object]]] = [
        ("Create on topic 'new'", lambda: admin.create_topic("new")),
        ("Delete on topic 'hidden'", lambda: admin.delete_topics(["hidden"])),
        ("Describe on group 'theirs'", lambda: admin.group("theirs")),
        ("Describe on group 'theirs'", lambda: admin.group_offsets("theirs", [("hers", 0)])),
        ("Read on group 'theirs'", lambda: admin.alter_group_offsets("theirs", {("hers", 0): 1})),
    ]
    for right, call in cases:
        error = refusal(call)
        assert error.code == "not-allowed"
        assert f"the right {right} is missing" in error.message
        operation = right.split()[0]
        assert f"--allow-principal User:ann --operation {operation}" in str(error.fix)


def test_topic_that_may_be_made_but_not_seen_is_an_error(login_broker: EmbeddedBroker) -> None:
    """Waiting for it to appear would take the whole timeout, and name the wrong reason."""
    add_user(login_broker, "maker", "s3cret")
    allow(login_broker, "maker", ResourceType.TOPIC, "made", AclOperation.CREATE)
    error = refusal(lambda: new_admin(login(login_broker, "maker", "s3cret")).create_topic("made"))
    assert error.code == "not-allowed"
    assert "the right Describe on topic 'made' is missing" in error.message


def test_transactional_id_takes_a_right_of_its_own(login_broker: EmbeddedBroker) -> None:
    """Exactly once needs Write on the transactional id, which is easily forgotten."""
    given = login(login_broker, "ann", "s3cret") | {"processing.guarantee": "exactly_once_v2"}
    settings = producer_settings(application(given)) | {"transactional.id": "hers-1"}
    with pytest.raises(KafkaException) as raised:
        new_producer(settings).init_transactions(PATIENT_S)
    error = raised.value.args[0]
    assert error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert verdict(error) is Verdict.FORBIDDEN
    assert error.fatal()


def test_plain_client_of_a_broker_that_wants_a_login_is_told_what_to_check(
    login_broker: EmbeddedBroker,
) -> None:
    """The broker only closes the connection, so nobody can know more."""
    settings = {"bootstrap.servers": login_broker.bootstrap_servers}
    error = refusal(Admin(admin_settings(application(settings)), timeout_s=2).topics)
    assert error.code == "broker-unreachable"
    assert "security.protocol" in str(error.fix)


def tls(broker: EmbeddedBroker, trusted: Certificates) -> dict[str, Any]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted.authority),
    }


def test_trusted_certificate_connects(
    tls_broker: EmbeddedBroker, certificates: Certificates
) -> None:
    """The trust store of a Java client in the PEM format carries over."""
    settings = tls(tls_broker, certificates)
    assert round_trip(settings) == b"hello"
    assert "hers" in new_admin(settings).topics()


def test_untrusted_certificate_is_not_called_an_unreachable_broker(
    tls_broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The authority of somebody else signed other certificates."""
    stranger = make_certificates(tmp_path_factory.mktemp("stranger"))
    error = refusal(new_admin(tls(tls_broker, stranger)).topics)
    assert error.code == "tls-failed"
    assert f"to the broker at {tls_broker.bootstrap_servers}: SSL handshake failed" in error.message
    assert "certificate could not be verified" in error.message
    assert "ssl.truststore.location" in str(error.fix)


def test_certificate_of_another_host_connects_only_unchecked(
    needs_java: None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An empty ssl.endpoint.identification.algorithm switches the check off, as in Java."""
    elsewhere = make_certificates(
        tmp_path_factory.mktemp("elsewhere"), host="DNS:elsewhere.example"
    )
    with broker_with_tls(elsewhere) as broker:
        checked = tls(broker, elsewhere)
        assert refusal(new_admin(checked).topics).code == "tls-failed"
        unchecked = checked | {"ssl.endpoint.identification.algorithm": ""}
        assert new_admin(unchecked).topics() == {}
