"""Write the reference page of the settings: ``python -m tests.architecture.settings_page``."""

from penstock.config import PREFIXES, SETTINGS
from penstock.setting import Setting
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "reference" / "settings.md"
INTRODUCTION = """\
# Settings

Names are Kafka's. A configuration is a dictionary from these names to values; an unknown name or
a wrong value is refused when the application is made. `make docs` writes this page from
`penstock.config`.

## Prefixes

Names with these prefixes are taken without being listed here:

| Prefix | Where such a setting goes |
|---|---|
"""
PREFIX_TEXTS = {
    "consumer.": "every Kafka consumer",
    "main.consumer.": "the consumers of the input; wins over `consumer.`",
    "restore.consumer.": "the consumers that restore stores",
    "global.consumer.": "the consumers of global tables",
    "producer.": "every Kafka producer",
    "admin.": "the admin clients",
    "topic.": "internal topics, as their configuration: `topic.segment.bytes`",
    "client.tag.": "tags of this instance: `client.tag.zone=a`",
    "spark.": "Spark's session",
    "ssl.": "every Kafka client: encryption",
    "sasl.": "every Kafka client: login",
    "app.": 'your own code: `context.app_configs_with_prefix("app.")` in a processor',
    "schema.registry.": "the client of the schema registry",
    "lake.": "tables of `to_lake`: `lake.iceberg.<catalog>.uri` and all else that a catalog needs",
}
LIST = """\

## Every setting

The column *effect* compares with Kafka Streams in Java. **yes**: the same, or a setting of
Penstock's own. **differs**: it has an effect, but not the same one; the text says which.
**none**: it is taken, so that a configuration can be shared, and does nothing.

| Setting | Default | Effect | Meaning |
|---|---|---|---|
"""

#: Settings with an effect that is not Java's, and what it is.
DIFFERS = {
    "bootstrap.servers": "Java needs it.",
    "commit.interval.ms": "Java: 30 s, with exactly once 100 ms.",
    "default.key.serde": "Java has no default.",
    "default.value.serde": "Java has no default.",
    "group.instance.id": "Java: for every thread of every instance.",
    "heartbeat.interval.ms": "Java: every thread.",
    "max.task.idle.ms": "A task waits when its batch is planned, not between two records.",
    "metrics.recording.level": "TRACE adds nothing.",
    "num.standby.replicas": "Java: so many copies, spread over all instances.",
    "num.stream.threads": "Java: threads of one instance. Here: threads of the whole cluster.",
    "rack.aware.assignment.tags": "Java: tags of instances (client.tag.zone). Here: tags of"
    " executors, from the environment of their hosts (PENSTOCK_CLIENT_TAG_ZONE).",
    "session.timeout.ms": "Java: 45 s, for every thread.",
    "state.cleanup.delay.ms": "It counts for slots that moved.",
    "task.timeout.ms": "Java: a task; here: the batch of a slot.",
}


def render() -> str:
    # Names that start with an underscore are for tests, as in Java.
    public = sorted(name for name in SETTINGS if not name.startswith("_"))
    prefixes = "".join(f"| `{prefix}` | {PREFIX_TEXTS[prefix]} |\n" for prefix in PREFIXES)
    return INTRODUCTION + prefixes + LIST + "".join(_row(SETTINGS[name]) for name in public)


def _row(setting: Setting[object]) -> str:
    default = "" if setting.default in (None, "") else f"`{setting.default}`"
    differs = DIFFERS.get(setting.name, "")
    effect = "none" if setting.unused else "differs" if differs else "yes"
    remark = setting.unused or differs
    return f"| `{setting.name}` | {default} | {effect} | {setting.doc}{remark and ' ' + remark} |\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
