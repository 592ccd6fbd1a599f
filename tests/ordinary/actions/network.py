"""What operators do to the broker, to rights and quotas, and what networks do."""

from __future__ import annotations

from confluent_kafka.admin import (
    AclOperation,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.cluster.topology import APPLICATION, COUNT_STORE, INPUTS, OUTPUTS
from tests.integration.kafka.proxy import Api
from tests.integration.kafka.secured import forbid, permit
from tests.ordinary.actions.day import USER, Act, Day
from tests.ordinary.quotas import set_quotas

_BROKER_SETTINGS = (
    ("num.io.threads", ("4", "6")),
    ("num.network.threads", ("2", "3")),
    ("background.threads", ("8", "12")),
    ("compression.type", ("producer", "lz4")),
    ("log.segment.bytes", ("16777216", "67108864")),
    ("log.index.interval.bytes", ("4096", "1024")),
    ("message.max.bytes", ("1048588", "4000000")),
)


def broker(day: Day) -> Act:
    """Change a setting of the broker while it runs."""
    name, values = day.chance.choice(_BROKER_SETTINGS)
    value = day.chance.choice(values)
    client = AdminClient({"bootstrap.servers": day.servers, "log_level": 0})
    number = str(day.admin.cluster().brokers[0].id)
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    change = ConfigResource(ResourceType.BROKER, number, incremental_configs=[entry])
    for future in client.incremental_alter_configs([change]).values():
        future.result(30)

    def evidence() -> str | None:
        asked = ConfigResource(ResourceType.BROKER, number)
        found = client.describe_configs([asked])[asked].result(30)[name].value
        return f"the broker has {name}={found}" if found == value else None

    return Act(f"{name}={value}", evidence)


def rights(day: Day) -> Act:
    """Take a right of the application away, and give it back."""
    resource, name, operation = day.chance.choice(
        (
            (ResourceType.TOPIC, day.chance.choice(INPUTS), AclOperation.READ),
            (ResourceType.TOPIC, day.chance.choice(OUTPUTS), AclOperation.WRITE),
            (ResourceType.TOPIC, f"{APPLICATION}-{COUNT_STORE}-changelog", AclOperation.WRITE),
            (ResourceType.GROUP, APPLICATION, AclOperation.READ),
        )
    )
    seconds = day.chance.uniform(15.0, 40.0)
    forbid(day.broker, USER, resource, name, operation)

    def evidence() -> str | None:
        reason = day.sayings.reason or ""
        return f"it waits for: {reason}" if "right" in reason or "allow" in reason else None

    def undo() -> None:
        permit(day.broker, USER, resource, name, operation)

    what = f"{operation.name} of {name} is forbidden for {seconds:.0f} s"
    return Act(what, evidence, seconds, undo)


def quota(day: Day) -> Act:
    """Limit what the application may write and read per second, with a backlog to work off."""
    rate = day.chance.choice((15_000, 60_000, 250_000))
    names = ("producer_byte_rate", "consumer_byte_rate")
    before = {api: day.proxy.throttle_ms(api) for api in (Api.PRODUCE, Api.FETCH)}
    set_quotas(day.servers, USER, dict.fromkeys(names, float(rate)))
    day.feeder.burst(4_000)

    def evidence() -> str | None:
        held = {api.name: day.proxy.throttle_ms(api) - ms for api, ms in before.items()}
        return f"the broker held it back by {held} ms" if any(held.values()) else None

    def undo() -> None:
        set_quotas(day.servers, USER, dict.fromkeys(names))

    return Act(f"it may write and read {rate} bytes/s for 30 s", evidence, 30.0, undo)


def link(day: Day) -> Act:
    """Delay what the broker answers to the application."""
    api, delay = day.chance.choice((Api.FETCH, Api.PRODUCE)), day.chance.uniform(0.05, 0.5)
    before = day.proxy.met(api)
    day.proxy.delay(api, delay, times=10_000)

    def evidence() -> str | None:
        late = day.proxy.met(api) - before
        return f"{late} answers were late" if late else None

    what = f"{api.name} is answered {delay:.2f} s later for 20 s"
    return Act(what, evidence, 20.0, day.proxy.heal)


def away(day: Day) -> Act:
    """Let the application lose the broker for a while."""
    seconds = day.chance.choice((10.0, 10.0, 30.0, 70.0, 130.0))
    before = day.proxy.refused
    day.proxy.down()

    def evidence() -> str | None:
        refused = day.proxy.refused - before
        return f"{refused} connections were refused" if refused else None

    return Act(f"the broker is away for {seconds:.0f} s", evidence, seconds, day.proxy.up)
