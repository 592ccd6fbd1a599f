"""All settings and the configuration that is checked against them. Names are Kafka's.

Which settings there are: ``penstock.settings``. The reference page is generated from them.
``StreamsConfig`` checks a dictionary against these and returns typed values. A value may name
something else, such as a serde or a handler; the runtime that uses the value looks that up.
"""

from __future__ import annotations

import difflib
import logging
import warnings
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, overload

from penstock.errors import ConfigError
from penstock.setting import Setting
from penstock.settings.group import *
from penstock.settings.kafka_clients import *
from penstock.settings.observability import *
from penstock.settings.processing import *
from penstock.settings.schema_registry import *
from penstock.settings.serving import *
from penstock.settings.state import *

T = TypeVar("T")

_log = logging.getLogger(__name__)


SETTINGS: dict[str, Setting[Any]] = {
    setting.name: setting for setting in list(globals().values()) if isinstance(setting, Setting)
}

#: Settings with these prefixes go to clients, to topics, to Spark or to the user's code.
PREFIXES = (
    "consumer.", "main.consumer.", "restore.consumer.", "global.consumer.", "producer.", "admin.",
    "topic.", "client.tag.", "spark.", "ssl.", "sasl.", "app.",
    "schema.registry.", "lake.",
)  # fmt: skip


def java_constant(name: str) -> str:
    """Return what Java calls the constant of a setting; ``penstock.java`` has all of them.

    >>> java_constant("application.id")
    'APPLICATION_ID_CONFIG'
    """
    return name.strip("_").upper().replace(".", "_") + "_CONFIG"


class ConfigType(ABCMeta):
    """Understands Java's constants, with a warning."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            setting = next((each for each in SETTINGS if java_constant(each) == name), None)
            if setting is None:
                raise AttributeError(f"StreamsConfig has no attribute {name!r}")
            text = f"write {setting!r}, or import StreamsConfig from penstock.java"
            warnings.warn(f"StreamsConfig.{name}: {text}", DeprecationWarning, stacklevel=2)
            return setting


class StreamsConfig(Mapping[str, Any], metaclass=ConfigType):
    """A checked configuration: unknown names and wrong values are refused when it is made.

    ``config[SETTING]`` returns the typed value or the default. ``config["name"]`` returns the value
    as the user gave it.
    """

    def __init__(self, given: Mapping[str, Any] | None = None) -> None:
        self._given = dict(given or {})
        self._values: dict[str, Any] = {}
        for name, value in self._given.items():
            setting = SETTINGS.get(name)
            if setting is not None:
                self._take(setting, setting.parsed(value))
            elif not str(name).startswith(PREFIXES):
                raise _unknown(str(name))

    def _take(self, setting: Setting[Any], value: Any) -> None:
        self._values[setting.name] = value
        if setting.newer is not None:
            _warn_of_older_name(setting.name, setting.newer.name)
            if setting.newer.name not in self._given:
                self._values[setting.newer.name] = value

    @staticmethod
    def of(given: Mapping[str, Any] | StreamsConfig | None) -> StreamsConfig:
        return given if isinstance(given, StreamsConfig) else StreamsConfig(given)

    @overload
    def __getitem__(self, key: Setting[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, Setting):
            return self._values.get(key.name, key.default)
        return self._given[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)

    def has(self, setting: Setting[Any]) -> bool:
        """Return whether the user gave this setting, instead of leaving it at its default."""
        return setting.name in self._values

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """Return the given settings that begin with a prefix, by their names without the prefix."""
        return {k[len(prefix) :]: v for k, v in self._given.items() if k.startswith(prefix)}

    @property
    def cache_max_bytes(self) -> int:
        """Return the size of the record cache."""
        return self[CACHE_MAX_BYTES]

    @staticmethod
    def consumer_prefix(name: str) -> str:
        return f"consumer.{name}"

    @staticmethod
    def main_consumer_prefix(name: str) -> str:
        return f"main.consumer.{name}"

    @staticmethod
    def restore_consumer_prefix(name: str) -> str:
        return f"restore.consumer.{name}"

    @staticmethod
    def global_consumer_prefix(name: str) -> str:
        return f"global.consumer.{name}"

    @staticmethod
    def producer_prefix(name: str) -> str:
        return f"producer.{name}"

    @staticmethod
    def admin_client_prefix(name: str) -> str:
        return f"admin.{name}"

    @staticmethod
    def topic_prefix(name: str) -> str:
        return f"topic.{name}"

    @staticmethod
    def client_tag_prefix(name: str) -> str:
        return f"client.tag.{name}"


@cache
def _warn_of_older_name(older: str, newer: str) -> None:
    """Warn of an older name once per process, since a configuration is read many times."""
    _log.warning("setting %s is an older name of %s: use the newer one", older, newer)


def _unknown(name: str) -> ConfigError:
    close = difflib.get_close_matches(name, SETTINGS, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return ConfigError(
        "unknown-setting",
        f"there is no setting {name!r}{hint}",
        fix="use Kafka's name, a prefix such as consumer. or producer. for client settings,"
        " or app. for settings of your own",
    )
