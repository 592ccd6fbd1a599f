"""What an application leaves in Kafka and on disk, and how it is deleted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from penstock.config import APPLICATION_ID, STATE_DIR, StreamsConfig
from penstock.kafka.admin import Admin
from penstock.runtime.spark.driver.topics import batches_topic

# As Kafka's own tool recognises them.
_INTERNAL = re.compile(
    r".+(-changelog|-repartition|-subscription-registration-topic|-subscription-response-topic"
    r"|-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic)"
)
_BATCHES = "-penstock-batches"


def remove_application(admin: Admin, config: StreamsConfig) -> None:
    """Delete the state of an application that has ended for good: topics, group and folder.

    Done twice it changes nothing more. Folders on other machines stay.
    """
    application_id = config[APPLICATION_ID]
    admin.delete_topics(owned_topics(application_id, admin.topics()), missing_ok=True)
    admin.delete_groups([application_id], missing_ok=True)
    folder = Path(config[STATE_DIR]).expanduser() / application_id
    shutil.rmtree(folder, ignore_errors=True)


def owned_topics(application_id: str, topics: Iterable[str]) -> list[str]:
    """Return the topics that the application made for itself.

    ``shop-eu-counts-changelog`` looks like one of ``shop``, but is left alone if there is an
    application ``shop-eu``: its batch log shows it.
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
        if name == batches_topic(application_id)
        or (
            name.startswith(own)
            and _INTERNAL.fullmatch(name)
            and not any(name.startswith(other) for other in others)
        )
    ]
