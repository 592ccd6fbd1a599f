"""One question to Kafka for the end offsets that many applications want at the same time."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from confluent_kafka import KafkaException

from penstock.errors import PenstockError
from penstock.model.topic_partition import TopicPartition

log = logging.getLogger(__name__)

_Parts = frozenset[TopicPartition]
_Ends = Mapping[TopicPartition, int]
#: Questions that arrive within this time are sent together. Applications that are answered together
#: ask together again, so idle applications soon ask at the same time.
_GATHER_S = 0.005


class Offsets(Protocol):
    """The questions of a driver to Kafka about its inputs."""

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]: ...

    def offsets_at(
        self, partitions: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]: ...


class _Question(NamedTuple):
    parts: _Parts
    #: None if the common question failed, perhaps because of another application's topic.
    done: Future[_Ends | None]


class _Group:
    """Questions to one cluster, with the same rights and the same isolation level."""

    def __init__(self) -> None:
        self._waiting: list[_Question] = []
        self._lock = threading.Lock()
        self._asking = threading.Lock()

    def answer(self, parts: _Parts, ask: Callable[[_Parts], _Ends]) -> _Ends:
        """Return the ends as of a question that is sent after this call.

        One of the callers asks for all waiting callers, with its own client.
        """
        question = _Question(parts, Future())
        with self._lock:
            self._waiting.append(question)
        with self._asking:
            if not question.done.done():
                self._ask_for_all(ask)
        ends = question.done.result()
        return ask(parts) if ends is None else ends

    def _ask_for_all(self, ask: Callable[[_Parts], _Ends]) -> None:
        time.sleep(_GATHER_S)
        with self._lock:
            taken, self._waiting = self._waiting, []
        ends: _Ends | None = None
        try:
            if len(taken) > 1:
                ends = ask(frozenset().union(*(each.parts for each in taken)))
        except (KafkaException, PenstockError):
            # Each application asks again for itself, and gets its own error.
            ends = None
        except Exception:
            log.exception("the common question for end offsets failed; each application asks alone")
        for each in taken:
            each.done.set_result(ends)


class SharedOffsets:
    """Gathers the questions of all applications of a pool."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._groups: defaultdict[tuple[Any, ...], _Group] = defaultdict(_Group)

    def of(self, admin: Offsets, settings: Mapping[str, Any]) -> Offsets:
        """Return the shared offsets for one application, to use instead of its own client.

        Args:
            settings: those of that client. Only clients of the same cluster and user share
                questions.
        """
        cluster = tuple(sorted(
            (name, str(value)) for name, value in settings.items() if name != "client.id"
        ))  # fmt: skip
        return _Member(self, admin, cluster)

    def group(self, cluster: tuple[Any, ...], *, committed: bool) -> _Group:
        with self._lock:
            return self._groups[(*cluster, committed)]


class _Member:
    """The offsets as one application of a pool asks for them."""

    def __init__(self, shared: SharedOffsets, admin: Offsets, cluster: tuple[Any, ...]) -> None:
        self._shared = shared
        self._admin = admin
        self._cluster = cluster

    def end_offsets(
        self, partitions: Iterable[TopicPartition], *, committed: bool = False
    ) -> dict[TopicPartition, int]:
        parts = frozenset(partitions)
        group = self._shared.group(self._cluster, committed=committed)
        found = group.answer(
            parts, lambda wanted: self._admin.end_offsets(wanted, committed=committed)
        )
        return {part: found[part] for part in parts}

    def offsets_at(
        self, partitions: Iterable[TopicPartition], time_ms: int
    ) -> dict[TopicPartition, int]:
        return self._admin.offsets_at(partitions, time_ms)
