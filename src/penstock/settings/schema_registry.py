"""Settings of the serdes that use a schema registry. Names are those of Confluent's serializers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.setting import Setting, boolean, optional_text

#: Settings of the registry's client begin with this.
REGISTRY_PREFIX = "schema.registry."

_STRATEGIES = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")


def _strategy(value: Any) -> str | Callable[..., str]:
    if callable(value):
        named: Callable[..., str] = value
        return named
    # Java's class names are fully qualified; the last part says which one is meant.
    name = str(value).rpartition(".")[2]
    if name not in _STRATEGIES:
        raise ValueError(f"one of {', '.join(_STRATEGIES)} or a function is needed")
    return name


REGISTRY_URL = Setting(
    "schema.registry.url",
    optional_text,
    None,
    "Address of the schema registry that Avro, Protobuf and JSON Schema serdes use; `mock://name`"
    " is a registry in this process, for tests.",
)
LOGIN = Setting(
    "basic.auth.user.info",
    optional_text,
    None,
    "Login at the schema registry, as `user:password`.",
)
LOGIN_SOURCE = Setting(
    "basic.auth.credentials.source",
    optional_text,
    None,
    "Where the login at the schema registry is.",
    unused="The login is read from basic.auth.user.info or from the address itself.",
)
AUTO_REGISTER = Setting(
    "auto.register.schemas",
    boolean,
    True,
    "Whether serdes register the schema they write with; if not, the subject must have it.",
)
USE_LATEST = Setting(
    "use.latest.version",
    boolean,
    False,
    "Whether serdes write with the newest schema of the subject instead of their own.",
)
KEY_STRATEGY: Setting[Any] = Setting(
    "key.subject.name.strategy",
    _strategy,
    "TopicNameStrategy",
    "How the subject of a key's schema is named: TopicNameStrategy, RecordNameStrategy,"
    " TopicRecordNameStrategy, or a function of topic, is_key and record name.",
)
VALUE_STRATEGY: Setting[Any] = Setting(
    "value.subject.name.strategy",
    _strategy,
    "TopicNameStrategy",
    "How the subject of a value's schema is named, as for keys.",
)
FAIL_INVALID_JSON = Setting(
    "json.fail.invalid.schema",
    boolean,
    False,
    "Whether the JSON Schema serde checks every value against its schema; needs the package"
    " jsonschema.",
)
