"""Serdes of nodes and stores that the program leaves to the configuration."""

from __future__ import annotations

from typing import Any

from penstock.errors import ConfigError, StreamsError
from penstock.serde.base import Serde, SerdeDefaults


def required_serde(
    serde: Serde[Any] | None, defaults: SerdeDefaults, part: str, what: str, at: str | None = None
) -> Serde[Any]:
    """Return the serde as the application uses it, or the configured default.

    Raises:
        StreamsError: ``missing-serde`` when there is neither.
    """
    given = defaults.serde(part) if serde is None else serde.with_defaults(defaults.of(part))
    if given is not None and not given.is_open:
        return given
    setting = f"default.{part}.serde"
    missing = ConfigError(
        "missing-serde", f"{setting} is not set", f"set {setting}, for instance to 'string'"
    )
    raise StreamsError(
        "missing-serde",
        f"{what} has no {part} serde, and {setting} is not set",
        f"give it one where it is made ({part}=Serdes.string(), say) or set {setting}",
        at,
    ) from missing
