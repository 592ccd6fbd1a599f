"""Connections to stream threads that stay open between questions.

A new connection costs both sides a handshake of six messages. That is much more than the question
for one key, and the thread pays for it out of the time of its batches.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from multiprocessing.connection import Connection
from typing import Any

from penstock.runtime.spark.exchange.channel import ThreadLostError, Waiting, ask_over, connect
from penstock.runtime.spark.exchange.questions import Question
from penstock.runtime.spark.exchange.stage_request import Endpoint

#: So many idle connections to one thread are kept.
_MOST_IDLE = 16


class KeptConnections:
    """Ask stream threads, over connections that are used again.

    A question may be sent twice. A slot that is asked for a stage again returns its first answer.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._idle: defaultdict[Endpoint, list[Connection]] = defaultdict(list)
        self._lock = threading.Lock()
        self._is_closed = False

    def ask(self, endpoint: Endpoint, question: Question, waiting: Waiting = Waiting()) -> Any:
        """Send a question, and wait for its answer as long as the thread is alive.

        A kept connection may have been closed by the other side meanwhile. Then the question is
        sent again over a new one. A thread that is silent is not waited for twice.

        Raises:
            ThreadLostError: the thread is gone, paused, or not one of this application.
        """
        kept = self._taken(endpoint)
        if kept is not None:
            began = time.monotonic()
            try:
                return self._asked(kept, endpoint, question, waiting)
            except ThreadLostError:
                self._drop(endpoint)
                is_over = waiting.is_over is not None and waiting.is_over.is_set()
                if is_over or time.monotonic() - began >= waiting.silence_s:
                    raise
        fresh = connect(endpoint, self._secret, waiting.silence_s)
        return self._asked(fresh, endpoint, question, waiting)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, defaultdict(list)
        for connections in idle.values():
            _close(connections)

    def _asked(
        self,
        connection: Connection,
        endpoint: Endpoint,
        question: Question,
        waiting: Waiting,
    ) -> Any:
        try:
            answer = ask_over(connection, endpoint, question, waiting)
        except BaseException:
            # The rest of an answer may still arrive, so the connection cannot be used again.
            connection.close()
            raise
        self._keep(endpoint, connection)
        return answer

    def _taken(self, endpoint: Endpoint) -> Connection | None:
        with self._lock:
            idle = self._idle.get(endpoint)
            return idle.pop() if idle else None

    def _keep(self, endpoint: Endpoint, connection: Connection) -> None:
        with self._lock:
            idle = self._idle[endpoint]
            if not self._is_closed and len(idle) < _MOST_IDLE:
                idle.append(connection)
                return
        connection.close()

    def _drop(self, endpoint: Endpoint) -> None:
        """Close the other connections to a thread that may have ended."""
        with self._lock:
            idle = self._idle.pop(endpoint, [])
        _close(idle)


def _close(connections: list[Connection]) -> None:
    for connection in connections:
        connection.close()
