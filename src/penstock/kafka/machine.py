"""Facts about the machine: folders, proxies, and environment variables that all programs use.

None of this is a setting of Penstock. Those are in ``penstock.config`` and not in variables.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies


def variable(name: str) -> str | None:
    """Return an environment variable such as ``JAVA_HOME``; unset and empty are the same."""
    return os.environ.get(name) or None


def environment() -> dict[str, str]:
    """Return a copy of the environment variables, for a process that is started from here.

    Without ``env=`` the system reads the list of variables itself. If another thread sets one
    meanwhile, as the start of Spark does, the list may have moved: ``OSError: Bad address``, or
    wrong variables. A variable that another thread deletes meanwhile is left out.
    """
    there = ((name, os.environ.get(name)) for name in os.environ)
    return {name: value for name, value in there if value is not None}


def set_variable(name: str, value: str) -> None:
    """Set an environment variable for programs that are started from here, such as Spark."""
    os.environ[name] = value


def cache_folder() -> Path:
    """Return Penstock's cache folder of the user. It can be deleted at any time."""
    base = variable("XDG_CACHE_HOME")
    # By the XDG rules, a relative path is ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "penstock"
    return Path.home() / ".cache" / "penstock"


def proxy_options() -> list[str]:
    """Translate the machine's proxy settings to options of Java."""
    options = []
    for scheme in ("http", "https"):
        address = urlsplit(getproxies().get(scheme, ""))
        if address.hostname:
            options.append(f"-D{scheme}.proxyHost={address.hostname}")
            options.append(f"-D{scheme}.proxyPort={address.port or 80}")
    without = getproxies().get("no")
    if options and without:
        hosts = [host.strip() for host in without.split(",") if host.strip()]
        # Java writes "all hosts of this domain" with a star, other programs with a dot.
        starred = "|".join(f"*{host}" if host.startswith(".") else host for host in hosts)
        options.append(f"-Dhttp.nonProxyHosts={starred}")
    return options
