"""Takes the lead: the group has chosen this instance, or the leader is gone."""

from __future__ import annotations

import logging

from penstock.config import APPLICATION_ID, PROCESSING_GUARANTEE, StreamsConfig
from penstock.runtime.spark.driver.instances.beacon import Life
from penstock.runtime.spark.driver.instances.instance import Instance
from penstock.runtime.spark.driver.instances.membership import GroupMember, away_s

log = logging.getLogger(__name__)


def takes_lead(
    member: GroupMember, instance: Instance, life: Life | None, config: StreamsConfig
) -> bool:
    """Tell whether this instance leads from now on.

    The group may choose an instance while another one has already taken over. Then the instance
    declines, so that the group chooses the one that leads.

    Args:
        life: the state of the instance that led last.

    Raises:
        StreamsError: the batch log cannot be read.
    """
    if member.leads.is_set() and life is Life.LEADS:
        member.decline(away_s(config, len(instance.instances)))
        return False
    if member.leads.is_set() and life is not Life.UNKNOWN and member.take():
        return True
    if not instance.is_next():
        member.stand_down()
        return False
    if not member.act(needs_group=config[PROCESSING_GUARANTEE] != "exactly_once_v2"):
        return False
    log.info("the instance that led %s is gone", config[APPLICATION_ID])
    return True
