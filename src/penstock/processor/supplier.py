"""What users may pass as a processor: a class, a factory, or a function."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError, NullArgumentError
from penstock.model.site import caller_site
from penstock.processor.processor import Processor
from penstock.state.spec import StoreSpec

Supplier = Callable[[], Any]


class ColumnSupplier(ABC):
    """Makes processors that can do their work to whole batches as well.

    Such a processor forwards each record once, with its key, and has no stores. The planner of SQL
    makes them; a processor of the user may do anything.
    """

    #: Whether ``over_columns`` asks where records came from.
    reads_origins: bool = False

    @abstractmethod
    def __call__(self) -> Any:
        """Return a new processor."""

    @abstractmethod
    def over_columns(self, batch: Any) -> Sequence[Any] | None:
        """Return the new values of a batch of the kernel; None if it needs its processor."""


@dataclass(frozen=True, slots=True)
class FunctionSupplier:
    """Makes a processor of a function: ``fn(record)`` or ``fn(record, context)``.

    A record that the function returns, or each one it yields, is forwarded.
    """

    fn: Callable[..., Any]
    with_context: bool

    def __call__(self) -> Processor[Any, Any, Any, Any]:
        return _FunctionProcessor(self.fn, self.with_context)


class _FunctionProcessor(Processor[Any, Any, Any, Any]):
    def __init__(self, fn: Callable[..., Any], with_context: bool) -> None:
        self._fn = fn
        self._with_context = with_context

    def process(self, record: Any) -> None:
        result = self._fn(record, self.context) if self._with_context else self._fn(record)
        for forwarded in _records(result):
            self.context.forward(forwarded)


def _records(result: Any) -> Iterable[Any]:
    """Return the records that a function returned.

    A value that is not a ``Record`` is returned as it is: the context refuses it with an error.
    """
    if result is None:
        return ()
    is_many = hasattr(result, "__iter__") and not isinstance(result, str | bytes)
    return result if is_many else (result,)


def as_supplier(given: Any, at: str | None = None) -> Supplier:
    """Return a factory that makes a new processor each time it is called."""
    if given is None:
        raise NullArgumentError(
            "missing-processor",
            "the processor is None",
            fix="pass a Processor class, a function that makes one, or a function of a record",
            at=at,
        )
    if inspect.isclass(given):
        make: Supplier = given
        return make
    if not callable(given):
        what = type(given).__name__
        raise InvalidArgumentError(
            "bad-processor",
            f"an instance of {what} is neither a Processor class, a function that makes one, nor a"
            " function of a record",
            fix=f"pass the class itself, or a lambda that makes a new one: lambda: {what}(…)",
            at=at,
        )
    required = _required_parameters(given)
    if required == 0:
        return _checked(given, at)
    if required in (1, 2):
        return FunctionSupplier(given, required == 2)
    raise InvalidArgumentError(
        "wrong-arity",
        f"processor function {getattr(given, '__name__', given)!r} takes {required} arguments",
        fix="give a factory without arguments, fn(record) or fn(record, context)",
        at=at,
    )


def _checked(factory: Supplier, at: str | None) -> Supplier:
    """Refuse a factory that returns the same processor twice: tasks must not share one.

    As in Kafka Streams, the factory is called twice. If it fails here, it may still succeed on a
    worker.
    """
    try:
        one, other = factory(), factory()
    except Exception:  # noqa: BLE001 - user code; it is called again where the processor runs
        return factory
    if one is other:
        what = "None" if one is None else f"the same {type(one).__name__}"
        raise InvalidArgumentError(
            "single-processor",
            f"the supplier returns {what} each time",
            fix="make a new processor in the supplier: each task needs its own",
            at=at,
        )
    return factory


def supplier_stores(supplier: Any) -> tuple[StoreSpec, ...]:
    """Return the store builders of a supplier: those of its method ``stores()``, if it has one."""
    stores = getattr(supplier, "stores", None)
    if not callable(stores):
        return ()
    try:
        return tuple(stores() or ())
    except TypeError as error:
        raise InvalidArgumentError(
            "bad-supplier-stores",
            f"stores() of {supplier!r} must take no arguments and return store builders: {error}",
            fix="make stores a static or class method of a processor class",
            at=caller_site(),
        ) from error


def _required_parameters(function: Callable[..., Any]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)
