"""Hadoop's settings for a YARN of two hosts on one machine, as files that its servers read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from tests.cluster.hosts import MARKER, Host

#: The services of the resource manager, by the middle of their settings' names.
SERVICES = (
    "address",
    "scheduler.address",
    "resource-tracker.address",
    "admin.address",
    "webapp.address",
)
#: A host is given up after so many milliseconds, instead of after ten minutes.
_EXPIRY_MS = "20000"
_LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.stdout.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""
_SCHEDULER = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    # Otherwise only a tenth of the memory may go to application masters: not enough for one.
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1",
}


def common(manager: str, ports: Mapping[str, int]) -> dict[str, str]:
    """Return what the resource manager, the node managers and the driver all have to know."""
    return {
        **{f"yarn.resourcemanager.{name}": f"{manager}:{ports[name]}" for name in SERVICES},
        "yarn.resourcemanager.hostname": manager,
        "yarn.nm.liveness-monitor.expiry-interval-ms": _EXPIRY_MS,
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "500",
        "yarn.scheduler.minimum-allocation-mb": "256",
        "yarn.resourcemanager.am.max-attempts": "2",
    }


def of_manager(state: Path) -> dict[str, str]:
    """Return the settings of the resource manager, which survives its own crash."""
    store = "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
    return {
        "yarn.resourcemanager.recovery.enabled": "true",
        "yarn.resourcemanager.store.class": store,
        "yarn.resourcemanager.fs.state-store.uri": f"file://{state}",
    }


def of_node(host: Host, memory_mb: int) -> dict[str, str]:
    """Return the settings of one host's node manager."""
    return {
        # With a bind host, the name of the host is the address, and not what DNS makes of it.
        "yarn.nodemanager.bind-host": host.address,
        "yarn.nodemanager.address": f"{host.address}:0",
        "yarn.nodemanager.localizer.address": f"{host.address}:0",
        "yarn.nodemanager.webapp.address": f"{host.address}:0",
        "yarn.nodemanager.local-dirs": f"{host.tmp}/yarn/local",
        "yarn.nodemanager.log-dirs": f"{host.tmp}/yarn/logs",
        "yarn.nodemanager.resource.memory-mb": str(memory_mb),
        "yarn.nodemanager.resource.cpu-vcores": "4",
        # The mark of the run is in the environment of everything that the run has started.
        "yarn.nodemanager.env-whitelist": f"JAVA_HOME,TMPDIR,PATH,{MARKER}",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        "yarn.nodemanager.delete.debug-delay-sec": "0",
        "yarn.nodemanager.vmem-check-enabled": "false",
    }


def write(folder: Path, settings: Mapping[str, str]) -> None:
    """Write the files of a ``HADOOP_CONF_DIR``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "core-site.xml").write_text(_xml({"fs.defaultFS": "file:///"}))
    (folder / "yarn-site.xml").write_text(_xml(settings))
    (folder / "capacity-scheduler.xml").write_text(_xml(_SCHEDULER))
    (folder / "log4j2.properties").write_text(_LOGGING)


def _xml(settings: Mapping[str, str]) -> str:
    rows = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    )
    return f'<?xml version="1.0"?>\n<configuration>{"".join(rows)}</configuration>\n'
