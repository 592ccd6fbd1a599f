"""Query state stores, with positions: Kafka Streams' interactive queries, version 2.

from penstock import query

request = query.StateQueryRequest.in_store("counts").with_query(query.KeyQuery.with_key("a"))
answer = streams.query(request).only_partition_result()
print(answer.result, answer.position)
"""

from __future__ import annotations

from penstock.query.parameters import (
    QueryableStoreType,
    QueryableStoreTypes,
    StoreQueryParameters,
)
from penstock.query.position import Position, PositionBound
from penstock.query.queries import (
    KeyQuery,
    MultiVersionedKeyQuery,
    Query,
    RangeQuery,
    ResultOrder,
    TimestampedKeyQuery,
    TimestampedRangeQuery,
    VersionedKeyQuery,
    WindowKeyQuery,
    WindowRangeQuery,
)
from penstock.query.request import StateQueryRequest
from penstock.query.result import FailureReason, QueryResult, StateQueryResult

__all__ = [
    "FailureReason",
    "KeyQuery",
    "MultiVersionedKeyQuery",
    "Position",
    "PositionBound",
    "Query",
    "QueryResult",
    "QueryableStoreType",
    "QueryableStoreTypes",
    "RangeQuery",
    "ResultOrder",
    "StateQueryRequest",
    "StateQueryResult",
    "StoreQueryParameters",
    "TimestampedKeyQuery",
    "TimestampedRangeQuery",
    "VersionedKeyQuery",
    "WindowKeyQuery",
    "WindowRangeQuery",
]
