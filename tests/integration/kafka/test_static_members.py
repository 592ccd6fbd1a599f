"""Two processes with one ``group.instance.id``, in a real group (``membership``)."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import StreamsError
from penstock.runtime.spark.driver.instances.membership import GroupMember
from tests.waiting import happens


def test_the_older_of_two_members_with_one_name_is_told(
    kafka_broker: str, new_topic: Callable[..., str]
) -> None:
    """It would wait for its turn for ever; the newer one leads."""
    topic = new_topic("batches")
    settings = {
        "bootstrap.servers": kafka_broker, "group.id": topic, "group.instance.id": "one",
        "session.timeout.ms": 10_000, "heartbeat.interval.ms": 500,
    }  # fmt: skip
    older = GroupMember(settings, topic, lambda: None)
    assert older.leads.wait(60)
    newer = GroupMember(settings, topic, lambda: None)
    try:
        assert happens(lambda: _code_of(older) == "instance-id-in-use", within_s=120)
        assert not older.is_leading
        assert newer.leads.wait(60)
        newer.check()
    finally:
        older.close()
        newer.close()


def _code_of(member: GroupMember) -> str | None:
    try:
        member.raise_failure()
    except StreamsError as error:
        return error.code
    return None
