"""Options of sources, sinks, groupings and branches. None means: not given.

Each is a frozen dataclass with keyword fields, and has the fluent methods of Kafka Streams. More
options: ``join_options``, ``materialized``, ``suppressed``, ``emit_strategy``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from penstock.dsl.generics import K, SerdeLike, V
from penstock.dsl.options.naming import Named, check_name
from penstock.dsl.options.offset_reset import check_offset_reset
from penstock.errors import InvalidArgumentError, NullArgumentError, TopologyError
from penstock.expr.expression import Expression
from penstock.model.former_names import one_spelling, renamed
from penstock.model.site import caller_site
from penstock.processor.functions import StreamPartitioner, TimestampExtractor
from penstock.serde.serdes import resolve_serde

if TYPE_CHECKING:
    from penstock.dsl.faces.kstream import KStream

_Option = TypeVar("_Option")

_FORMER = {
    "with_key_serde": "with_key",
    "with_value_serde": "with_value",
    "with_other_value_serde": "with_other_value",
    "with_id_serde": "with_id",
    "with_number_of_partitions": "with_num_partitions",
}
_SERDES = ("key", "value", "other_value", "id")


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class SerdeOptions(Generic[K, V]):
    """A name and two serdes, the base of most option classes."""

    name: str | None = None
    key: SerdeLike[K] | None = None
    value: SerdeLike[V] | None = None

    def __post_init__(self) -> None:
        check_options(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return renamed(self, type(self).__name__, name, _FORMER)

    def with_name(self, name: str) -> Self:
        return replace(self, name=name)

    def with_key(self, key: SerdeLike[K]) -> Self:
        return replace(self, key=key)

    def with_value(self, value: SerdeLike[V]) -> Self:
        return replace(self, value=value)


def _check_extractor(extractor: object) -> None:
    """Refuse an expression: it takes key and value, but an extractor takes record and time."""
    if isinstance(extractor, Expression):
        raise InvalidArgumentError(
            "expression-as-extractor",
            f"a timestamp extractor takes the record and a time,"
            f" but {extractor!r} takes key and value",
            fix="write a function, such as lambda record, partition_time: record.value['at']",
            at=caller_site(),
        )


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed(SerdeOptions[K, V]):
    """How a topic is read: serdes, timestamps, where to start, the source's name."""

    timestamp_extractor: TimestampExtractor | None = None
    offset_reset: str | None = None

    def __post_init__(self) -> None:
        check_options(self)
        _check_extractor(self.timestamp_extractor)
        object.__setattr__(self, "offset_reset", check_offset_reset(self.offset_reset))

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        timestamp_extractor: TimestampExtractor | None = None,
        offset_reset: str | None = None,
    ) -> Consumed[K, V]:
        """Return options with serdes, a timestamp extractor and an offset reset."""
        if isinstance(timestamp_extractor, str):
            raise InvalidArgumentError(
                "java-order",
                f"Consumed.with_: {timestamp_extractor!r} stands where a timestamp extractor is"
                " expected; Java finds the offset reset by its type, Python by its name",
                fix=f"name it: Consumed.with_(…, offset_reset={str(timestamp_extractor)!r})",
                at=caller_site(),
            )
        return Consumed(
            key=key,
            value=value,
            timestamp_extractor=timestamp_extractor,
            offset_reset=offset_reset,
        )

    @staticmethod
    def as_(name: str) -> Consumed[Any, Any]:
        """Return options with a name."""
        return Consumed(name=name)

    def with_timestamp_extractor(self, extractor: TimestampExtractor) -> Self:
        """Return options with a function that returns a record's time."""
        return replace(self, timestamp_extractor=extractor)

    def with_offset_reset_policy(self, policy: str) -> Self:
        """Return options that say where a new application begins to read."""
        return replace(self, offset_reset=policy)


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Produced(SerdeOptions[K, V]):
    """How a topic is written: serdes, partitioner, the sink's name."""

    partitioner: StreamPartitioner | None = None

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        partitioner: StreamPartitioner | None = None,
    ) -> Produced[K, V]:
        """Return options with serdes and a partitioner."""
        return Produced(key=key, value=value, partitioner=partitioner)

    @staticmethod
    def as_(name: str) -> Produced[Any, Any]:
        """Return options with a name."""
        return Produced(name=name)

    def with_stream_partitioner(self, partitioner: StreamPartitioner) -> Self:
        """Return options with a function that chooses partitions."""
        return replace(self, partitioner=partitioner)


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(SerdeOptions[K, V]):
    """Serdes and name of the repartition topic of a grouping."""

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None,
        value: SerdeLike[V] | None = None,
        name: str | None = None,
    ) -> Grouped[K, V]:
        """Return options with serdes and a name."""
        if name is not None and not isinstance(name, str):
            raise InvalidArgumentError(
                "java-order",
                f"Grouped.with_: the name is {name!r}, and {key!r} stands where the serde of"
                " the key is expected; Java has the name first",
                fix="write Grouped.with_(key, value, name)",
                at=caller_site(),
            )
        return Grouped(key=key, value=value, name=name)

    @staticmethod
    def as_(name: str) -> Grouped[Any, Any]:
        """Return options with a name."""
        return Grouped(name=name)


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Repartitioned(SerdeOptions[K, V]):
    """Name, serdes, number of partitions and partitioner of a repartition topic."""

    num_partitions: int | None = None
    partitioner: StreamPartitioner | None = None

    @staticmethod
    def as_(name: str) -> Repartitioned[Any, Any]:
        """Return options with a name for the topic."""
        return Repartitioned(name=name)

    @staticmethod
    def with_(
        key: SerdeLike[K] | None = None, value: SerdeLike[V] | None = None
    ) -> Repartitioned[K, V]:
        """Return options with serdes."""
        return Repartitioned(key=key, value=value)

    def with_num_partitions(self, number: int) -> Self:
        """Return options with a number of partitions."""
        return replace(self, num_partitions=number)

    def with_stream_partitioner(self, partitioner: StreamPartitioner) -> Self:
        """Return options with a function that chooses partitions."""
        return replace(self, partitioner=partitioner)


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Printed(Generic[K, V]):
    """Where ``print`` writes (standard output if ``file`` is None), and the form of a line."""

    file: str | Path | None = None
    label: str | None = None
    fn: Callable[[K, V], str] | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        check_options(self)
        if self.file is not None and not str(self.file).strip():
            raise TopologyError(
                "bad-file", "the path to print to is empty", "give a path", at=caller_site()
            )

    @staticmethod
    def to_sys_out() -> Printed[Any, Any]:
        """Return options to print to standard output."""
        return Printed()

    @staticmethod
    def to_file(path: str | Path) -> Printed[Any, Any]:
        """Return options to print to a file."""
        return Printed(file=path)

    def with_label(self, label: str) -> Self:
        """Return options with a label in front of each line."""
        return replace(self, label=label)

    def with_fn(self, fn: Callable[[K, V], str]) -> Self:
        """Return options with a function that makes the line."""
        return replace(self, fn=fn)

    def with_name(self, name: str) -> Self:
        """Return options with a name."""
        return replace(self, name=name)


@one_spelling
@dataclass(frozen=True, slots=True, kw_only=True)
class Branched(Generic[K, V]):
    """Name and function of a branch.

    ``fn`` returns the stream for the result, or None for no stream. A branch with a
    ``consumer`` is passed to it and is not in the result.
    """

    name: str | None = None
    fn: Callable[[KStream[K, V]], KStream[Any, Any] | None] | None = None
    consumer: Callable[[KStream[K, V]], object] | None = None

    def __post_init__(self) -> None:
        # The name is a suffix, so it may start with any legal character, such as "-".
        check_options(self)
        if self.fn is not None and self.consumer is not None:
            raise InvalidArgumentError(
                "function-and-consumer",
                "a branch has a function and a consumer",
                fix="give a function, which returns a stream, or a consumer, which does not",
                at=caller_site(),
            )

    @staticmethod
    def as_(name: str) -> Branched[Any, Any]:
        """Return options with a name for the branch."""
        return Branched(name=name)

    @staticmethod
    def with_function(
        fn: Callable[[KStream[K, V]], KStream[Any, Any] | None], name: str | None = None
    ) -> Branched[K, V]:
        """Return options with a function that continues the branch."""
        return Branched(fn=fn, name=name)

    @staticmethod
    def with_consumer(
        consumer: Callable[[KStream[K, V]], object], name: str | None = None
    ) -> Branched[K, V]:
        """Return options with a function that takes the branch out."""
        return Branched(consumer=consumer, name=name)

    def with_name(self, name: str) -> Self:
        """Return options with a name for the branch."""
        return replace(self, name=name)


def check_options(options: Any) -> None:
    """Check the name and resolve every ``*serde`` field of an option class."""
    for field in fields(options):
        value = getattr(options, field.name)
        if value is None:
            continue
        if field.name in _SERDES:
            object.__setattr__(options, field.name, resolve_serde(value))
        elif field.name in ("name", "store_name"):
            name = value.name if isinstance(value, Named) else value
            object.__setattr__(options, field.name, check_name(name))


def options_of(
    kind: type[_Option], given: _Option | str | Named | None, /, **keywords: Any
) -> _Option:
    """Make one option object of an option object, a name, or keyword arguments.

    Keyword arguments win over the fields of the object. None means: not given.
    """
    if given is None:
        given = kind()
    elif isinstance(given, str | Named):
        given = kind(name=given if isinstance(given, str) else given.name)  # type: ignore[call-arg]
    if not isinstance(given, kind):
        raise InvalidArgumentError(
            "bad-option",
            f"{given!r} is given where {kind.__name__} is wanted",
            fix=f"give a {kind.__name__}, a name, or keyword arguments",
            at=caller_site(),
        )
    changes = {key: value for key, value in keywords.items() if value is not None}
    return replace(given, **changes) if changes else given  # type: ignore[type-var]


def given_options(
    kind: type[_Option], given: _Option | str | Named | None, /, **keywords: Any
) -> _Option | None:
    """Return the result of ``options_of``; None if nothing is given."""
    if given is None and all(value is None for value in keywords.values()):
        return None
    return options_of(kind, given, **keywords)


def either(first: Any, second: Any, names: str) -> Any:
    """Return the value of an argument that has two names; refuse both at once."""
    if first is not None and second is not None:
        raise InvalidArgumentError(
            "argument-given-twice",
            f"{names} are two spellings of one argument, and both are given",
            fix="leave one of them out",
            at=caller_site(),
        )
    return second if first is None else first


def not_none(value: Any, what: str) -> Any:
    """Return the value; raise NullArgumentError if it is None."""
    if value is None:
        raise NullArgumentError(
            "missing-argument", f"{what} is None", f"give {what}", at=caller_site()
        )
    return value
