"""Settings of the consumer group, and of how tasks are placed."""

from __future__ import annotations

from penstock.setting import Setting, anything, at_least, few_texts, one_of, optional_text

_SPARK_PLACES = "Spark places the work; the group only decides which driver leads."

GROUP_PROTOCOL = Setting(
    "group.protocol",
    one_of("classic", "streams"),
    "classic",
    "Who assigns tasks: the group's leader, or the broker.",
    unused=_SPARK_PLACES,
)
GROUP_INSTANCE_ID = Setting(
    "group.instance.id",
    optional_text,
    None,
    "Static membership: a driver that restarts with this name leads again at once.",
)
SESSION_TIMEOUT_MS = Setting(
    "session.timeout.ms",
    at_least(1),
    15_000,
    "After this time without a heartbeat a driver counts as gone, and another one leads.",
)
HEARTBEAT_INTERVAL_MS = Setting(
    "heartbeat.interval.ms",
    at_least(1),
    3_000,
    "How often a driver tells the group that it is there.",
)
MAX_POLL_INTERVAL_MS = Setting(
    "max.poll.interval.ms",
    at_least(1),
    300_000,
    "Longest time between two reads before an instance counts as stuck.",
    unused=_SPARK_PLACES,
)
RACK_AWARE_STRATEGY = Setting(
    "rack.aware.assignment.strategy",
    one_of("none", "min_traffic", "balance_subtopology"),
    "none",
    "How racks count in the assignment of tasks.",
    unused=_SPARK_PLACES,
)
RACK_AWARE_TAGS: Setting[tuple[str, ...]] = Setting(
    "rack.aware.assignment.tags",
    few_texts(5),
    (),
    "Tags such as zone, of which a slot and its standby copies get different values, before"
    " different hosts. At most 5.",
)
RACK_AWARE_NON_OVERLAP_COST = Setting(
    "rack.aware.assignment.non_overlap_cost",
    anything,
    None,
    "Cost of moving a task, for the rack-aware assignment.",
    unused=_SPARK_PLACES,
)
RACK_AWARE_TRAFFIC_COST = Setting(
    "rack.aware.assignment.traffic_cost",
    anything,
    None,
    "Cost of traffic between racks.",
    unused=_SPARK_PLACES,
)
TASK_ASSIGNOR = Setting(
    "task.assignor.class", anything, None, "A task assignor of your own.", unused=_SPARK_PLACES
)
UPGRADE_FROM = Setting(
    "upgrade.from",
    optional_text,
    None,
    "The version a rolling upgrade comes from.",
    unused="One process leads, so there are no rolling upgrades between versions.",
)
