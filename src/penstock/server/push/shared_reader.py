"""One reader for each topic that push queries follow, however many subscribers there are."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import Protocol

from penstock.errors import PenstockError, StreamsError
from penstock.server.push.runs import RecordBatch
from penstock.server.reading import PartitionWatch, Place, Positions, Topics

_log = logging.getLogger("penstock.server")
_POLL_S = 0.2
_CLOSE_S = 5.0


class Feed(Protocol):
    """A subscriber as a reader sees it."""

    def take(self, batch: RecordBatch) -> Waker | None:
        """Take records in the reader's thread; return what has to be woken."""

    def fail(self, error: PenstockError) -> None:
        """Hear that the topic cannot be read any more."""


#: An event, and the loop on which it has to be set.
Waker = tuple[asyncio.AbstractEventLoop, asyncio.Event]


class SharedReader:
    """Reads a topic from the end it had at the start, for all feeds that are attached."""

    def __init__(self, topics: Topics, topic: str, ends: Mapping[Place, int]) -> None:
        self.topic = topic
        self._reader = topics.reader(ends)
        self._positions: Positions = dict(ends)
        self._watch = PartitionWatch(topics, topic, len(ends))
        self._feeds: list[Feed] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self.failure: PenstockError | None = None
        self._thread = threading.Thread(
            target=self._run, name=f"penstock-push-{topic}", daemon=True
        )
        self._thread.start()

    @property
    def partitions(self) -> int:
        return len(self._positions)

    @property
    def feeds(self) -> int:
        return len(self._feeds)

    def attach(self, feed: Feed, positions: Mapping[Place, int] | None) -> Positions | None:
        """Hand a feed all records from now on, and return the positions of the first ones.

        Args:
            feed: the subscriber.
            positions: where it goes on; None for here. If the reader is already behind one of
                them, the feed is not attached and the result is None. A feed that is ahead of the
                reader leaves out what it has seen.
        """
        with self._lock:
            if self.failure is not None:
                raise self.failure
            here = self._positions
            if positions is not None and any(at > positions[p] for p, at in here.items()):
                return None
            self._feeds.append(feed)
            return dict(here)

    def detach(self, feed: Feed) -> None:
        with self._lock:
            if feed in self._feeds:
                self._feeds.remove(feed)

    def stop(self) -> None:
        """End soon; the thread closes what the reader has."""
        self._closing.set()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        self._thread.join(_CLOSE_S)

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                records = self._reader.read(_POLL_S)
                self._watch.check()
                if records:
                    self._hand_out(RecordBatch(records))
                else:
                    # The end of a transaction moves the position, too.
                    with self._lock:
                        self._positions = dict(self._reader.positions)
        except PenstockError as error:
            self._fail(error)
        # Clients must not wait for ever for rows that nobody reads any more.
        except Exception as error:  # noqa: BLE001
            text = f"topic {self.topic!r} is no longer read: {error!r}"
            self._fail(StreamsError("read-failed", text, fix="send the query again"))
        finally:
            self._reader.close()

    def _fail(self, error: PenstockError) -> None:
        _log.error("topic %s is no longer read for push queries: %s", self.topic, error)
        with self._lock:
            self.failure, feeds = error, list(self._feeds)
        for feed in feeds:
            feed.fail(error)

    def _hand_out(self, batch: RecordBatch) -> None:
        wakers: dict[asyncio.AbstractEventLoop, list[asyncio.Event]] = {}
        with self._lock:
            self._positions = dict(self._reader.positions)
            for feed in self._feeds:
                waker = feed.take(batch)
                if waker is not None:
                    wakers.setdefault(waker[0], []).append(waker[1])
        for loop, events in wakers.items():
            # One call for all subscribers: each call would wake the loop on its own.
            _wake(loop, events)


def _wake(loop: asyncio.AbstractEventLoop, events: list[asyncio.Event]) -> None:
    def set_all() -> None:
        for event in events:
            event.set()

    try:
        loop.call_soon_threadsafe(set_all)
    except RuntimeError:
        # The loop has ended, and its subscribers with it.
        _log.debug("a loop with subscribers has ended")


class SharedReaders:
    """The readers by topic. One is opened for the first subscriber and ends with the last."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._readers: dict[str, SharedReader] = {}
        self._users: dict[str, int] = {}
        #: Readers that nobody uses any more; their threads end soon.
        self._ending: list[SharedReader] = []
        self._lock = threading.Lock()
        #: Is held while a reader is opened, which asks Kafka. ``release`` does not wait for that.
        self._opening = threading.Lock()

    def acquire(self, topic: str) -> SharedReader:
        """Return the reader of a topic; ``release`` it. May wait for Kafka."""
        with self._opening:
            reader = self._taken(topic)
            if reader is None:
                reader = self._opened(topic)
                with self._lock:
                    self._readers[topic], self._users[topic] = reader, 1
            return reader

    def _taken(self, topic: str) -> SharedReader | None:
        with self._lock:
            reader = self._readers.get(topic)
            if reader is None or reader.failure is not None:
                return None
            self._users[topic] += 1
            return reader

    def release(self, reader: SharedReader) -> None:
        """Tell that a subscriber no longer uses a reader. Never waits."""
        with self._lock:
            if self._readers.get(reader.topic) is not reader:
                return
            self._users[reader.topic] -= 1
            if self._users[reader.topic]:
                return
            del self._readers[reader.topic], self._users[reader.topic]
            self._ending = [each for each in self._ending if each.is_alive] + [reader]
        reader.stop()

    def all(self) -> list[SharedReader]:
        with self._lock:
            return list(self._readers.values())

    def close(self) -> None:
        with self._lock:
            readers = [*self._readers.values(), *self._ending]
            self._readers.clear()
            self._ending = []
        for reader in readers:
            reader.stop()
        for reader in readers:
            reader.join()

    def _opened(self, topic: str) -> SharedReader:
        ends = self._topics.ends(self._topics.places([topic]))
        return SharedReader(self._topics, topic, ends)
