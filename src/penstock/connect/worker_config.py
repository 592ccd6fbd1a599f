"""The settings of a Connect worker that Penstock starts: its defaults, the cluster's, a file's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from penstock.connect.errors import ConnectError
from penstock.kafka.broker_listener import HOST

#: Settings of a connection to Kafka. The worker's own clients and its connectors need them.
_CONNECTION = ("bootstrap.servers", "security.protocol", "ssl.", "sasl.")
_CLIENTS = ("", "producer.", "consumer.", "admin.")

_DEFAULTS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    # The broker decides, as for the topics of queries.
    "config.storage.replication.factor": "-1",
    "offset.storage.replication.factor": "-1",
    "status.storage.replication.factor": "-1",
    "offset.storage.partitions": "5",
    "status.storage.partitions": "1",
    # After a crash, a source reads again what it read after its last flush. Connect's default is
    # one minute.
    "offset.flush.interval.ms": "5000",
    # A restarted server gets its connectors back after this time. Connect's default is 5 minutes.
    "scheduled.rebalance.max.delay.ms": "10000",
}


def storage_topics(service_id: str) -> dict[str, str]:
    """Return the topics in which the workers of a service keep their connectors."""
    name = group_of(service_id)
    return {
        "config.storage.topic": f"{name}-configs",
        "offset.storage.topic": f"{name}-offsets",
        "status.storage.topic": f"{name}-status",
    }


def group_of(service_id: str) -> str:
    """Return the group that the workers of all servers with this service id are in."""
    return f"_penstock-connect-{service_id.rstrip('_-') or 'default'}"


def worker_properties(
    cluster: Mapping[str, Any],
    service_id: str,
    *,
    port: int,
    plugins: Iterable[Path],
    given: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return all settings of a worker. What the user gives wins, except for its address.

    Args:
        cluster: Settings of the connection to Kafka, by Java's names.
        service_id: Servers with the same service id share their connectors.
        port: Where the worker listens on loopback.
        plugins: Folders with connectors.
        given: The user's settings, from ``ksql.connect.worker.config``.
    """
    given = dict(given or {})
    connection = {n: str(v) for n, v in cluster.items() if n.startswith(_CONNECTION) and v}
    for_all = {
        f"{prefix}{name}": value
        for prefix in _CLIENTS
        for name, value in connection.items()
        if not prefix or name != "bootstrap.servers"
    }
    folders = [str(each) for each in plugins]
    folders += [each.strip() for each in given.pop("plugin.path", "").split(",") if each.strip()]
    return {
        **_DEFAULTS,
        **storage_topics(service_id),
        "group.id": group_of(service_id),
        **for_all,
        **given,
        "plugin.path": ",".join(dict.fromkeys(folders)),
        "listeners": f"http://{HOST}:{port}",
        "rest.advertised.host.name": HOST,
        "rest.advertised.port": str(port),
    }


def read_worker_config(file: str) -> dict[str, str]:
    """Read the settings in ``ksql.connect.worker.config``, a Java properties file.

    Raises:
        ConnectError: ``connect-worker-config``, if the file cannot be read.
    """
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise ConnectError(
            "connect-worker-config",
            f"the worker's settings in {file!r} cannot be read: {error.strerror}",
            fix="correct ksql.connect.worker.config, or leave it out",
        ) from None
    return read_properties(text)


def read_properties(text: str) -> dict[str, str]:
    r"""Read a Java properties file: with comments, continued lines, and ``=`` or ``:``.

    >>> read_properties("# mine\na.b = 1\nc: \\\n   2\n")
    {'a.b': '1', 'c': '2'}
    """
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        while line.endswith("\\") and not line.endswith("\\\\"):
            line = line[:-1] + next(lines, "").strip()
        at = min((place for place in map(line.find, "=:") if place >= 0), default=len(line))
        found[line[:at].strip()] = _unescaped(line[at + 1 :].strip())
    return found


def _unescaped(value: str) -> str:
    if "\\" not in value:
        return value
    names = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
    out: list[str] = []
    letters = iter(value)
    for letter in letters:
        if letter != "\\":
            out.append(letter)
            continue
        escaped = next(letters, "")
        if escaped == "u":
            out.append(chr(int("".join(next(letters, "0") for _ in range(4)), 16)))
        else:
            out.append(names.get(escaped, escaped))
    return "".join(out)
