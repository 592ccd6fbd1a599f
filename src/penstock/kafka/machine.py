"""What the machine says about itself: folders, proxies and the variables every program honours.

None of this is a setting of Penstock: those live in ``penstock.config`` and in no variable.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies


def variable(name: str) -> str | None:
    """Gives an environment variable such as ``JAVA_HOME``; unset and empty are the same."""
    return os.environ.get(name) or None


def set_variable(name: str, value: str) -> None:
    """Tells programs started from here, such as Spark's launcher, what they read nowhere else."""
    os.environ[name] = value


def cache_folder() -> Path:
    """Names the user's cache folder of Penstock, which can be deleted at any time."""
    base = variable("XDG_CACHE_HOME")
    # The XDG rules say that a relative path is to be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "penstock"
    return Path.home() / ".cache" / "penstock"


def proxy_options() -> list[str]:
    """Translates the machine's proxy settings into Java's options."""
    options = []
    for scheme in ("http", "https"):
        address = urlsplit(getproxies().get(scheme, ""))
        if address.hostname:
            options.append(f"-D{scheme}.proxyHost={address.hostname}")
            options.append(f"-D{scheme}.proxyPort={address.port or 80}")
    without = getproxies().get("no")
    if options and without:
        hosts = [host.strip() for host in without.split(",") if host.strip()]
        # Java writes "all hosts of this domain" with a star where others start with a dot.
        starred = "|".join(f"*{host}" if host.startswith(".") else host for host in hosts)
        options.append(f"-Dhttp.nonProxyHosts={starred}")
    return options
