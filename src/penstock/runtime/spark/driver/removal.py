"""Deletes what an application leaves in Kafka and on disk."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from penstock.config import APPLICATION_ID, STATE_DIR, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.topics import batches_topic

# Kafka's own tool recognises internal topics by the same names.
_INTERNAL = re.compile(
    r".+(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)
_BATCHES = "-penstock-batches"


def remove_application(admin: Admin, config: StreamsConfig) -> None:
    """Delete the topics, the group and the folder of an application that has ended for good.

    A second call changes nothing. Folders on other machines stay.
    """
    application_id = config[APPLICATION_ID]
    admin.delete_topics(owned_topics(application_id, admin.topics()), missing_ok=True)
    admin.delete_groups([application_id], missing_ok=True)
    folder = Path(config[STATE_DIR]).expanduser() / application_id
    shutil.rmtree(folder, ignore_errors=True)


def owned_topics(application_id: str, topics: Iterable[str]) -> list[str]:
    """Return the internal topics of the application.

    ``shop-eu-counts-changelog`` looks like a topic of ``shop``. If the batch log of ``shop-eu``
    exists, it belongs to that application, and is left alone.
    """
    names = list(topics)
    own = f"{application_id}-"
    others = [
        name.removesuffix(_BATCHES) + "-"
        for name in names
        if name.endswith(_BATCHES)
        and name.startswith(own)
        and name != batches_topic(application_id)
    ]
    return [
        name
        for name in names
        if name in (batches_topic(application_id), f"{application_id}-penstock-backfill")
        or (
            name.startswith(own)
            and _INTERNAL.fullmatch(name)
            and not any(name.startswith(other) for other in others)
        )
    ]
