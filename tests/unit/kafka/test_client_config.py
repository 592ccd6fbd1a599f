from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from penstock.config import StreamsConfig
from penstock.errors import ConfigError
from penstock.kafka.client_config import (
    admin_settings,
    consumer_settings,
    global_consumer_settings,
    producer_settings,
    restore_consumer_settings,
)
from penstock.kafka.clients import new_consumer

BASE = {"application.id": "shop", "bootstrap.servers": "127.0.0.1:1"}


def config(**more: Any) -> StreamsConfig:
    return StreamsConfig(BASE | {name.replace("_", "."): value for name, value in more.items()})


def test_prefixes_win_over_plain_names_and_roles_over_both() -> None:
    """The nearer a setting stands to its client, the more it counts."""
    given = StreamsConfig(
        BASE
        | {
            "session.timeout.ms": 1000,
            "consumer.session.timeout.ms": 2000,
            "main.consumer.session.timeout.ms": 3000,
        }
    )
    assert consumer_settings(given, "main")["session.timeout.ms"] == 3000
    assert consumer_settings(given, "restore")["session.timeout.ms"] == 2000


def test_restore_and_global_consumers_have_prefixes_of_their_own() -> None:
    """As in Kafka Streams: what a restore fetches says nothing about the input."""
    given = StreamsConfig(
        BASE
        | {
            "consumer.fetch.max.bytes": 1,
            "restore.consumer.fetch.max.bytes": 2,
            "global.consumer.fetch.max.bytes": 3,
        }
    )
    assert consumer_settings(given)["fetch.max.bytes"] == 1
    assert restore_consumer_settings(given)["fetch.max.bytes"] == 2
    assert global_consumer_settings(given)["fetch.max.bytes"] == 3


def test_lost_broker_is_looked_for_as_often_as_java_does() -> None:
    """librdkafka's own default is ten times as long, and an application would stand still."""
    assert consumer_settings(config())["reconnect.backoff.max.ms"] == 1000
    long = producer_settings(config(reconnect_backoff_ms=5000))
    assert long["reconnect.backoff.max.ms"] == 5000


def test_main_consumer_is_a_member_of_the_applications_group() -> None:
    """Kafka's own tools show the application's lag under its id."""
    settings = consumer_settings(config())
    assert settings["group.id"] == "shop"
    assert settings["auto.offset.reset"] == "earliest"
    assert settings["enable.auto.commit"] == "false"


@pytest.mark.parametrize("role", ["restore", "global"])
def test_other_consumers_never_touch_the_group(role: Any) -> None:
    """A restore with the group's name, or its member id, would disturb the group."""
    settings = consumer_settings(config(group_instance_id="a"), role)
    assert settings["group.id"] == f"shop-{role}"
    assert settings["auto.offset.reset"] == "error"
    assert "group.instance.id" not in settings


def test_exactly_once_fixes_what_it_rests_on() -> None:
    """A user cannot switch off by accident what the guarantee needs."""
    given = StreamsConfig(
        BASE
        | {
            "processing.guarantee": "exactly_once_v2",
            "consumer.isolation.level": "read_uncommitted",
            "producer.enable.idempotence": False,
        }
    )
    assert consumer_settings(given)["isolation.level"] == "read_committed"
    assert producer_settings(given)["enable.idempotence"] == "true"
    assert producer_settings(given)["transaction.timeout.ms"] == 60_000


def test_waits_are_never_longer_than_the_transaction() -> None:
    """librdkafka refuses what Java allows, so the value is shortened."""
    given = config(processing_guarantee="exactly_once_v2", request_timeout_ms=90_000)
    assert producer_settings(given)["socket.timeout.ms"] == 60_000
    assert consumer_settings(given)["socket.timeout.ms"] == 90_000


def test_producer_places_keys_as_java_does() -> None:
    """A key's partition is the same for every client that writes the topic."""
    assert producer_settings(config())["partitioner"] == "murmur2_random"


def test_security_reaches_every_client() -> None:
    """A cluster that wants a login wants it of all clients."""
    given = StreamsConfig(
        BASE | {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "ssl.ca.location": "/c"}
    )
    for settings in (consumer_settings(given), producer_settings(given), admin_settings(given)):
        assert settings["security.protocol"] == "SASL_SSL"
        assert settings["sasl.mechanism"] == "PLAIN"
        assert settings["ssl.ca.location"] == "/c"


def test_client_id_is_the_callers_unless_a_prefix_gives_one() -> None:
    """Several clients of one application can be told apart."""
    given = StreamsConfig(BASE | {"client.id": "c", "admin.client.id": "mine"})
    assert producer_settings(given)["client.id"] == "c"
    assert producer_settings(given, "c-7")["client.id"] == "c-7"
    assert admin_settings(given, "c-7")["client.id"] == "mine"


def test_librdkafka_takes_every_setting_that_goes_to_clients() -> None:
    """What a user may set must not make a client impossible."""
    given = config(
        processing_guarantee="exactly_once_v2", request_timeout_ms=40_000, retry_backoff_ms=50,
        connections_max_idle_ms=1000, metadata_max_age_ms=1000, receive_buffer_bytes=-1,
        send_buffer_bytes=1024, group_protocol="streams", group_instance_id="i",
        heartbeat_interval_ms=2000, retry_backoff_max_ms=0, reconnect_backoff_ms=5000,
        metadata_recovery_strategy="none", metadata_recovery_rebootstrap_trigger_ms=1000,
        default_api_timeout_ms=5000,
        session_timeout_ms=6000, max_poll_interval_ms=7000, max_poll_records=5,
        fetch_max_bytes=2_000_000, enable_metrics_push=True, auto_offset_reset="none",
    )  # fmt: skip
    silent = {"log_level": 0}
    Consumer(consumer_settings(given) | silent).close()
    Consumer(consumer_settings(given, "restore") | silent).close()
    Producer(producer_settings(given) | silent | {"transactional.id": "t"})
    AdminClient(admin_settings(given) | silent)


def test_unknown_setting_of_a_client_is_named() -> None:
    """The message carries the name, so that a typing error is found at once."""
    given = StreamsConfig(BASE | {"consumer.fetch.mxa.bytes": 1})
    with pytest.raises(ConfigError, match=r"fetch\.mxa\.bytes"):
        new_consumer(consumer_settings(given))
