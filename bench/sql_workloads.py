"""The peers' five workloads in SQL. Names are quoted, since the JSON has them in lower case."""

from __future__ import annotations

from penstock.sql import SqlEngine
from penstock.topology.topology import Topology

_EVENTS = """
CREATE STREAM events
    (`key` VARCHAR KEY, `user` VARCHAR, `amount` DOUBLE, `country` VARCHAR, `ts` BIGINT)
    WITH (KAFKA_TOPIC='{input}', VALUE_FORMAT='JSON', PARTITIONS=4);
"""
_OUT = "WITH (KAFKA_TOPIC='{output}', VALUE_FORMAT='{format}')"

SCRIPTS = {
    "w1": f"""{_EVENTS}
        CREATE STREAM out {_OUT.replace("{format}", "JSON")} AS
        SELECT `key`, `user`, `amount`,
            CASE WHEN `amount` > 75 THEN 'high' ELSE 'mid' END AS `band`, `ts`
        FROM events WHERE `amount` > 50;
    """,
    # The count does not use the values. In the other styles they are bytes and are not decoded.
    # Here they must be JSON of these types.
    "w2": f"""{_EVENTS}
        CREATE TABLE out {_OUT.replace("{format}", "DELIMITED")} AS
        SELECT `key`, COUNT(*) AS n FROM events GROUP BY `key`;
    """,
    "w3": f"""{_EVENTS}
        CREATE TABLE out {_OUT.replace("{format}", "DELIMITED")} AS
        SELECT `key`, SUM(`amount`) AS total
        FROM events WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 30 SECONDS)
        GROUP BY `key`;
    """,
    "w4": f"""{_EVENTS}
        CREATE TABLE users (`id` VARCHAR PRIMARY KEY, `name` VARCHAR, `tier` VARCHAR)
            WITH (KAFKA_TOPIC='{{table}}', VALUE_FORMAT='JSON', PARTITIONS=4);
        CREATE STREAM out {_OUT.replace("{format}", "JSON")} AS
        SELECT `key`, `user`, `amount`, `country`, `ts`, `name`, `tier`
        FROM events JOIN users ON `key` = `id`;
    """,
    "w5": f"""
        CREATE STREAM lines (`key` VARCHAR KEY, line VARCHAR)
            WITH (KAFKA_TOPIC='{{input}}', VALUE_FORMAT='DELIMITED', VALUE_DELIMITER='TAB',
                PARTITIONS=4);
        CREATE TABLE out {_OUT.replace("{format}", "DELIMITED")} AS
        SELECT word, COUNT(*) AS n
        FROM (SELECT `key`, EXPLODE(SPLIT(line, ' ')) AS word FROM lines) words
        GROUP BY word;
    """,
}  # fmt: skip


def build_sql(workload: str, *, input: str, output: str, table: str) -> Topology:  # noqa: A002
    """Return the topology of a workload's only query."""
    engine = SqlEngine()
    engine.execute(SCRIPTS[workload].format(input=input, output=output, table=table))
    return engine.topology()
