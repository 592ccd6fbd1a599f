"""Splits a stream. As data: ``penstock.topology.nodes.streams.branch``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from penstock.dsl.generics import K, V
from penstock.dsl.operators.expression_fields import check_fields
from penstock.dsl.operators.returns import check_function
from penstock.dsl.options.naming import Named
from penstock.dsl.options.stream_options import Branched, options_of
from penstock.dsl.plan.logical import Operator
from penstock.dsl.plan.stream import Stream
from penstock.errors import InvalidStateError
from penstock.model.site import caller_site
from penstock.topology.nodes import Branch, PassThrough

if TYPE_CHECKING:
    from penstock.dsl.faces.kstream import KStream

#: A branch: its options, or only its name.
BranchName = Branched[Any, Any] | str | Named


class Splitter:
    """A split while branches are added."""

    def __init__(self, stream: Stream, name: str | None) -> None:
        self._stream = stream
        self._predicates: list[Callable[[Any, Any], bool]] = []
        self._children: list[str] = []
        self._default: str | None = None
        self.name = stream.graph.names.given_or_new(name, "KSTREAM-BRANCH-")
        self._node = Operator(self.name, self._make)
        stream.graph.add(self._node, stream.node)

    def add(self, predicate: Callable[[Any, Any], bool], suffix: str | None) -> Stream:
        """Add a branch for records that match the predicate and no earlier branch."""
        check_function("branch", "predicate", predicate, "key", "value")
        check_fields("branch", predicate, self._stream.key_serde, self._stream.value_serde)
        self._predicates.append(predicate)
        stream = self._child(suffix, len(self._predicates))
        self._children.append(stream.name)
        return stream

    def add_default(self, suffix: str | None) -> Stream:
        """Add the last branch, for records that match no predicate."""
        stream = self._child(suffix, 0)
        self._default = stream.name
        return stream

    def _child(self, suffix: str | None, index: int) -> Stream:
        if self._default is not None:
            raise InvalidStateError(
                "split-complete",
                f"split {self.name!r} has its default branch {self._default!r} already",
                fix="call default_branch last",
                at=caller_site(),
            )
        name = f"{self.name}{index if suffix is None else suffix}"
        # Java takes a number for the branch that does not appear in a name.
        self._stream.graph.names.new_processor_name(name)
        stream = self._stream
        node = Operator(name, PassThrough)
        stream.graph.add(node, self._node)
        return Stream(
            name=name,
            node=node,
            graph=stream.graph,
            sources=stream.sources,
            key_serde=stream.key_serde,
            value_serde=stream.value_serde,
            key_changed=stream.key_changed,
        )

    def _make(self, **fields: Any) -> Branch:
        return Branch(
            predicates=tuple(self._predicates),
            children=tuple(self._children),
            default=self._default,
            **fields,
        )


class BranchedKStream(Generic[K, V]):
    """A stream while it is split. Each record goes to the first branch whose predicate holds."""

    def __init__(self, stream: Stream, name: str | None) -> None:
        self._splitter = Splitter(stream, name)
        self._face = stream.graph.faces.stream
        self._branches: dict[str, KStream[K, V]] = {}

    def branch(
        self,
        predicate: Callable[[K, V], bool],
        branched: BranchName | None = None,
        *,
        name: str | None = None,
        fn: Callable[[KStream[K, V]], KStream[Any, Any] | None] | None = None,
        consumer: Callable[[KStream[K, V]], object] | None = None,
    ) -> BranchedKStream[K, V]:
        """Add a branch.

        Args:
            predicate: ``(key, value)`` to whether the record belongs to the branch.
            branched: The name and the function of the branch, or only the name.
            name: The name of the branch. The name of the split and this are its key in the result.
            fn: From the branch to the stream in the result; if it returns None, there is none.
            consumer: Is called with the branch, which then is not part of the result.
        """
        options = options_of(Branched, branched, name=name, fn=fn, consumer=consumer)
        self._keep(self._splitter.add(predicate, options.name), options)
        return self

    def default_branch(
        self,
        branched: BranchName | None = None,
        *,
        name: str | None = None,
        fn: Callable[[KStream[K, V]], KStream[Any, Any] | None] | None = None,
        consumer: Callable[[KStream[K, V]], object] | None = None,
    ) -> dict[str, KStream[K, V]]:
        """Add a branch for all other records, and return the branches by name."""
        options = options_of(Branched, branched, name=name, fn=fn, consumer=consumer)
        self._keep(self._splitter.add_default(options.name), options)
        return self._branches

    def no_default_branch(self) -> dict[str, KStream[K, V]]:
        """Drop all other records, and return the branches by name."""
        return self._branches

    def _keep(self, stream: Stream, options: Branched[Any, Any]) -> None:
        branch = self._face(stream)
        if options.consumer is not None:
            options.consumer(branch)
        elif options.fn is None:
            self._branches[stream.name] = branch
        elif (made := options.fn(branch)) is not None:
            self._branches[stream.name] = made
