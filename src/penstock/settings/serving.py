"""Settings of the server that answers questions about the application."""

from __future__ import annotations

from penstock.setting import Setting, host_and_port

APPLICATION_SERVER = Setting(
    "application.server",
    host_and_port,
    "",
    "host:port under which this instance answers queries.",
    unused="State is asked in process, through streams.store(name).",
)
