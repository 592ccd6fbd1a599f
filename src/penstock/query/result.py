"""Results of a query, by partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.errors import InvalidStateError
from penstock.query.position import Position


class FailureReason(Enum):
    """Why a partition has no answer."""

    #: The query demands the active task, and this instance has a standby copy only.
    NOT_ACTIVE = "NOT_ACTIVE"
    #: The position is behind the bound of the query.
    NOT_UP_TO_BOUND = "NOT_UP_TO_BOUND"
    #: The partition is not on this instance.
    NOT_PRESENT = "NOT_PRESENT"
    #: The store does not have that partition.
    DOES_NOT_EXIST = "DOES_NOT_EXIST"
    #: The store cannot answer this kind of query.
    UNKNOWN_QUERY_TYPE = "UNKNOWN_QUERY_TYPE"
    #: The store failed.
    STORE_EXCEPTION = "STORE_EXCEPTION"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The answer of one partition: a result, or the reason why there is none."""

    result: Any = None
    position: Position = field(default_factory=Position)
    failure: FailureReason | None = None
    message: str = ""
    #: What was done and how long it took, if the request asked for it.
    execution_info: tuple[str, ...] = ()

    @property
    def is_success(self) -> bool:
        return self.failure is None

    @property
    def is_failure(self) -> bool:
        return self.failure is not None

    def value(self) -> Any:
        """Return the result, or raise the reason why there is none."""
        if self.failure is not None:
            raise InvalidStateError(
                "query-failed",
                f"the query has no result: {self.failure.value}: {self.message}",
                fix="look at .failure before the result",
            )
        return self.result


@dataclass(frozen=True, slots=True)
class StateQueryResult:
    """The answers of all partitions that were asked."""

    partition_results: Mapping[int, QueryResult] = field(default_factory=dict)
    #: The answer of a global store, which has no partitions.
    global_result: QueryResult | None = None

    @property
    def position(self) -> Position:
        """Return the position of all answers together: use it as the bound of the next query."""
        merged = Position()
        for each in self.partition_results.values():
            merged = merged.merge(each.position)
        return merged

    def only_partition_result(self) -> QueryResult:
        """Return the one answer that is not empty; of a query for a key there is one at most."""
        found = [
            each
            for each in self.partition_results.values()
            if each.is_failure or each.result is not None
        ]
        if len(found) > 1:
            raise InvalidStateError(
                "several-results",
                f"{len(found)} partitions have answered",
                fix="use partition_results",
            )
        return found[0] if found else QueryResult(position=self.position)
