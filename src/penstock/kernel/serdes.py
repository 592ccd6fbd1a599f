"""Serdes of nodes and stores that were left to the configuration."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigError, StreamsError
from penstock.serde.base import Serde, SerdeDefaults


def required_serde(
    serde: Serde[Any] | None, defaults: SerdeDefaults, part: str, what: str, at: str | None = None
) -> Serde[Any]:
    """Gives the serde with its open parts filled in; raises when neither side names one."""
    given = defaults.key if part == "key" else defaults.value
    if serde is not None:
        given = serde.with_defaults(defaults)
    if given is not None and not given.is_open:
        return given
    setting = f"default.{part}.serde"
    missing = ConfigError(
        "missing-serde", f"{setting} is not set", f"set {setting}, for instance to 'string'"
    )
    raise StreamsError(
        "missing-serde",
        f"{what} has no {part} serde, and {setting} is not set",
        f"give it one where it is made ({part}_serde=Serdes.string(), say) or set {setting}",
        at,
    ) from missing
