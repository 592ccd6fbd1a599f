"""The ready-made serdes, and the types and names that users may give instead of a serde."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from difflib import get_close_matches
from enum import Enum
from inspect import isclass
from typing import TYPE_CHECKING, Any, TypeVar, get_origin, is_typeddict
from uuid import UUID

from penstock.errors import InvalidArgumentError
from penstock.model.former_names import renamed
from penstock.model.site import caller_site
from penstock.serde.base import Serde
from penstock.serde.functions import FunctionSerde, serde_from
from penstock.serde.json import JsonSerde, json_serde
from penstock.serde.list_serde import ListSerde
from penstock.serde.pickle_serde import PickleSerde
from penstock.serde.primitives import (
    BooleanSerde,
    BytesSerde,
    DoubleSerde,
    FloatSerde,
    IntegerSerde,
    LongSerde,
    ShortSerde,
    StringSerde,
    UUIDSerde,
    VoidSerde,
)

T = TypeVar("T")
_Bytes = bytes

#: What users may give: a serde, its class, its name, or a Python type. None is the default.
SerdeLike = Serde[Any] | type | str | None

_JAVA = "org.apache.kafka.common.serialization.Serdes$"

_BY_NAME: dict[str, type[Serde[Any]]] = {
    "string": StringSerde,
    "long": LongSerde,
    "integer": IntegerSerde,
    "short": ShortSerde,
    "float": FloatSerde,
    "double": DoubleSerde,
    "bytes": BytesSerde,
    "byte_array": BytesSerde,
    "byte_buffer": BytesSerde,
    "boolean": BooleanSerde,
    "uuid": UUIDSerde,
    "void": VoidSerde,
    "json": JsonSerde,
    "pickle": PickleSerde,
}
_BY_JAVA_NAME = {
    f"{'UUID' if name == 'uuid' else name.title().replace('_', '')}Serde": serde
    for name, serde in _BY_NAME.items()
    if name not in ("json", "pickle")
}
_BY_TYPE: dict[Any, type[Serde[Any]]] = {
    str: StringSerde,
    int: LongSerde,
    float: DoubleSerde,
    bytes: BytesSerde,
    bytearray: BytesSerde,
    memoryview: BytesSerde,
    bool: BooleanSerde,
    UUID: UUIDSerde,
    type(None): VoidSerde,
    dict: JsonSerde,
    list: JsonSerde,
}


#: What Java calls the factories; ``penstock.java`` has these names.
JAVA_FACTORIES = {
    "String": "string",
    "Long": "long",
    "Integer": "integer",
    "Short": "short",
    "Float": "float_",
    "Double": "double",
    "Bytes": "bytes",
    "ByteArray": "bytes",
    "ByteBuffer": "bytes",
    "Boolean": "boolean",
    "UUID": "uuid",
    "Void": "void",
    "ListSerde": "list_",
    "Json": "json",
}
_FORMER = {"byte_array": "bytes", "byte_buffer": "bytes", **JAVA_FACTORIES}


class _Factories(type):
    """Understands former names, and tells a similar one to a misspelled name."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            return renamed(cls, "Serdes", name, _FORMER)


class Serdes(metaclass=_Factories):
    """Factories of all serdes. ``penstock.java`` has the same with Java's names.

    >>> Serdes.long().encode(258).hex()
    '0000000000000102'
    """

    @staticmethod
    def string() -> StringSerde:
        """Text as UTF-8."""
        return StringSerde()

    @staticmethod
    def long() -> LongSerde:
        """Integers of 64 bits, 8 bytes."""
        return LongSerde()

    @staticmethod
    def integer() -> IntegerSerde:
        """Integers of 32 bits, 4 bytes."""
        return IntegerSerde()

    @staticmethod
    def short() -> ShortSerde:
        """Integers of 16 bits, 2 bytes."""
        return ShortSerde()

    @staticmethod
    def float_() -> FloatSerde:
        """Floating-point numbers of 32 bits; Python's own floats are doubles."""
        return FloatSerde()

    @staticmethod
    def double() -> DoubleSerde:
        """Floating-point numbers of 64 bits."""
        return DoubleSerde()

    @staticmethod
    def bytes() -> BytesSerde:
        """Bytes as they are."""
        return BytesSerde()

    @staticmethod
    def boolean() -> BooleanSerde:
        """True and false, one byte."""
        return BooleanSerde()

    @staticmethod
    def uuid() -> UUIDSerde:
        """UUIDs as text."""
        return UUIDSerde()

    @staticmethod
    def void() -> VoidSerde:
        """None and nothing else."""
        return VoidSerde()

    @staticmethod
    def list_(inner: SerdeLike) -> ListSerde[Any]:
        """Lists whose entries the inner serde writes, in Kafka's format."""
        serde = resolve_serde(inner)
        if serde is None:
            raise _unknown("a list serde without inner serde", "such as list_(Serdes.string())")
        return ListSerde(serde)

    @staticmethod
    def json(type: Any = None) -> Serde[Any]:  # noqa: A002
        """JSON text, of any value or of a declared type.

        Args:
            type: a dataclass, pydantic model, typed dict, or a type such as ``list[int]``.
                None reads and writes plain dicts, lists and scalars.

        >>> Serdes.json(dict[int, str]).decode(b'{"1":"one"}')
        {1: 'one'}
        """
        return json_serde(type)

    @staticmethod
    def pickle() -> PickleSerde:
        """Any Python object. Only for topics that only trusted programs write to."""
        return PickleSerde()

    @staticmethod
    def serde_from(
        serializer: Callable[[T], _Bytes], deserializer: Callable[[_Bytes], T]
    ) -> FunctionSerde[T]:
        """A serde made of two functions. None never reaches them."""
        return serde_from(serializer, deserializer)


def resolve_serde(spec: SerdeLike) -> Serde[Any] | None:
    """Return the serde that a class, a name or a type stands for; None stays None, the default.

    Names are Kafka's, so ``"integer"`` and ``"float"`` have 4 bytes, while the types ``int``
    and ``float`` stand for ``long`` and ``double``, the ones that hold Python's numbers.

    >>> resolve_serde("long") == resolve_serde(int) == Serdes.long()
    True

    Raises:
        InvalidArgumentError: if it stands for no serde.
    """
    if spec is None or isinstance(spec, Serde):
        return spec
    if isinstance(spec, str):
        return _by_name(spec)
    if isclass(spec) and issubclass(spec, Serde):
        return _instance(spec)
    if isclass(spec) and spec in _BY_TYPE:
        return _BY_TYPE[spec]()
    if _is_json_type(spec):
        return json_serde(spec)
    if getattr(spec, "__qualname__", "").startswith(f"{Serdes.__name__}."):
        raise _unknown(f"the function {spec.__qualname__}", f"call it: {spec.__qualname__}()")
    raise _unknown(repr(spec), "give a Serde, the name of one, a dataclass or a pydantic model")


def _by_name(name: str) -> Serde[Any]:
    serde = _BY_NAME.get(name) or _BY_JAVA_NAME.get(name.removeprefix(_JAVA))
    if serde is not None:
        return serde()
    nearest = get_close_matches(name.lower(), _BY_NAME, 1, 0.4)
    known = ", ".join(_BY_NAME)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise _unknown(repr(name), f"{hint}known names: {known}")


def _instance(cls: type[Serde[Any]]) -> Serde[Any]:
    try:
        return cls()
    except TypeError as error:
        raise _unknown(f"class {cls.__name__}", f"give an instance: {error}") from None


def _is_json_type(spec: Any) -> bool:
    return (
        dataclasses.is_dataclass(spec)
        or is_typeddict(spec)
        or get_origin(spec) is not None
        or hasattr(spec, "__pydantic_validator__")
        or (isclass(spec) and (issubclass(spec, Enum) or hasattr(spec, "_fields")))
    )


def _unknown(what: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError("unknown-serde", f"{what} is not a serde", fix, caller_site())
