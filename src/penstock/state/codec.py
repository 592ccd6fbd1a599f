"""Serdes bound to one store, with errors that name the store."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from struct import Struct
from typing import Any

from penstock.errors import (
    ConfigError,
    DeserializationError,
    NullArgumentError,
    SerializationError,
    StreamsError,
    UnavailableError,
)
from penstock.model.versioned import (
    AggregationWithHeaders,
    ValueAndTimestamp,
    ValueTimestampHeaders,
)
from penstock.serde.base import Serde
from penstock.serde.primitives import DoubleSerde, LongSerde
from penstock.state.environment import StoreEnvironment
from penstock.state.spec import StoreSpec

_LONG = Struct(">q")
#: The layout of time and value, for values of a fixed size, and the type of the value.
_FIXED: dict[type, tuple[Struct, type]] = {
    LongSerde: (Struct(">qq"), int),
    DoubleSerde: (Struct(">qd"), float),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """Writes and reads the keys or the values of one store.

    ``write`` and ``read`` raise the errors of the serde. The caller catches them and raises
    ``unfit`` or ``unreadable``, so that calls that succeed cost nothing extra. ``write`` returns
    None if the serde writes no bytes for a value, which deletes the key.
    """

    store: str
    part: str
    serde: Serde[Any]
    write: Callable[[Any], bytes | None]
    read: Callable[[bytes], Any]

    def unfit(self, value: object, error: Exception) -> StreamsError:
        """Return the error for a value that the serde cannot write.

        If the serde cannot reach something, such as a registry, the error stays as it is.
        """
        if isinstance(error, UnavailableError):
            return error
        if isinstance(value, ValueAndTimestamp | ValueTimestampHeaders | AggregationWithHeaders):
            value = value[0]
        return SerializationError(
            "store-serde-mismatch",
            f"store {self.store!r}: {self.part} {_short(value)} of type {type(value).__name__!r}"
            f" does not fit {type(self.serde).__name__} ({_reason(error)})",
            fix=f"write a {self.part} that the serde takes, or give store {self.store!r}"
            f" another serde of {self.part}s",
        )

    def unreadable(self, data: bytes, error: Exception) -> StreamsError:
        """Return the error for bytes that the serde cannot read, as ``unfit`` for values."""
        if isinstance(error, UnavailableError):
            return error
        return DeserializationError(
            "store-serde-mismatch",
            f"store {self.store!r}: {self.part} of {len(data)} bytes {data[:32]!r} cannot be read"
            f" by {type(self.serde).__name__} ({_reason(error)})",
            fix=f"give store {self.store!r} the serde of {self.part}s that it was written with,"
            " or reset the application's state",
        )

    def write_checked(self, value: Any) -> bytes | None:
        """Write a value, which may be None; raise the errors of this codec."""
        try:
            return None if value is None else self.write(value)
        except Exception as error:
            raise self.unfit(value, error) from error

    def read_checked(self, data: bytes | None) -> Any:
        """Read bytes, which may be None; raise the errors of this codec."""
        try:
            return None if data is None else self.read(data)
        except Exception as error:
            raise self.unreadable(data or b"", error) from error

    def write_key(self, key: Any) -> bytes:
        """Write a key, which must not be None."""
        data = None if key is None else self.write_checked(key)
        if data is None:
            raise self.null_key()
        return data

    def null_key(self) -> NullArgumentError:
        return NullArgumentError(
            "null-key",
            f"store {self.store!r}: the key is None",
            fix="filter out records without a key before they reach the store",
        )


def key_codec(spec: StoreSpec, env: StoreEnvironment) -> Codec:
    """Bind the store's key serde, or the configured default; raise if there is neither."""
    return _bind(_found(spec.key_serde or env.defaults.key, spec, env, "key"), spec, env, "key")


def value_codec(spec: StoreSpec, env: StoreEnvironment) -> Codec:
    """Bind the store's value serde, or the configured default; raise if there is neither."""
    serde = _found(spec.value_serde or env.defaults.value, spec, env, "value")
    return _bind(serde, spec, env, "value")


def _found(
    serde: Serde[Any] | None, spec: StoreSpec, env: StoreEnvironment, part: str
) -> Serde[Any]:
    filled = None if serde is None else serde.with_defaults(env.defaults.of(part))
    if filled is None or filled.is_open:
        raise _missing_serde(spec, part)
    return filled


def timestamped(codec: Codec) -> Codec:
    """Return the codec of ``ValueAndTimestamp``: eight bytes of time, then the value."""
    write, read = codec.write, codec.read
    pack, unpack, new = _LONG.pack, _LONG.unpack_from, tuple.__new__

    def write_timestamped(value_and_timestamp: Any) -> bytes | None:
        try:
            value, timestamp = value_and_timestamp
        except (TypeError, ValueError):
            raise TypeError("the store takes ValueAndTimestamp(value, timestamp)") from None
        data = None if value is None else write(value)
        return None if data is None else pack(timestamp) + data

    def read_timestamped(data: bytes) -> ValueAndTimestamp:
        # A third cheaper than calling the named tuple. Every read of a table comes here.
        return new(ValueAndTimestamp, (read(data[8:]), unpack(data)[0]))

    fixed = _FIXED.get(type(codec.serde))
    if fixed is not None:
        return replace(codec, **_fixed_codec(*fixed, write_timestamped, read_timestamped))
    return replace(codec, write=write_timestamped, read=read_timestamped)


def _fixed_codec(
    layout: Struct,
    kind: type,
    write: Callable[[Any], bytes | None],
    read: Callable[[bytes], ValueAndTimestamp],
) -> dict[str, Any]:
    """Return a faster codec for counts and sums: one call packs time and value."""
    pack, unpack, new = layout.pack, layout.unpack, tuple.__new__

    def write_fixed(value_and_timestamp: Any) -> bytes | None:
        try:
            value, timestamp = value_and_timestamp
            # Java writes every NaN with the same bits; the serde does that.
            if type(value) is kind and value == value:
                return pack(timestamp, value)
        except (TypeError, ValueError, struct.error):
            pass
        # The slow way raises the right error.
        return write(value_and_timestamp)

    def read_fixed(data: bytes) -> ValueAndTimestamp:
        try:
            timestamp, value = unpack(data)
        except struct.error:
            return read(data)
        return new(ValueAndTimestamp, (value, timestamp))

    return {"write": write_fixed, "read": read_fixed}


def _bind(serde: Serde[Any], spec: StoreSpec, env: StoreEnvironment, part: str) -> Codec:
    """Return a codec that skips ``Serde.serialize`` unless the serde overrides it."""
    topic, kind = env.changelog_topic(spec.name), type(serde)
    write: Callable[[Any], bytes | None] = serde.encode
    if kind.serialize is not Serde.serialize:
        write = partial(serde.serialize, topic)
        write = _never_none(write) if part == "key" else write
    read: Callable[[bytes], Any] = serde.decode
    if kind.deserialize is not Serde.deserialize:
        read = partial(serde.deserialize, topic)
    return Codec(store=spec.name, part=part, serde=serde, write=write, read=read)


def _never_none(write: Callable[[Any], bytes | None]) -> Callable[[Any], bytes]:
    def write_key(key: Any) -> bytes:
        data = write(key)
        if data is None:
            raise ValueError("serialize() returned None for a key")
        return data

    return write_key


def _missing_serde(spec: StoreSpec, part: str) -> StreamsError:
    error = StreamsError(
        "missing-serde",
        f"store {spec.name!r} has no {part} serde, and default.{part}.serde is not set",
        fix=f"give {part}= where the store is made (Materialized, Stores.*_builder),"
        f" or set default.{part}.serde",
        at=spec.site,
    )
    error.__cause__ = ConfigError(
        "missing-setting", f"'default.{part}.serde' is not set, and store {spec.name!r} needs it"
    )
    return error


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
