"""One reader for each topic that push queries follow, however many subscribers there are."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Mapping
from typing import Protocol

from penstock.errors import PenstockError, StreamsError
from penstock.kafka.topic_reader import Positions
from penstock.server.push.runs import RecordBatch
from penstock.server.reading import PartitionWatch, Place, Topics

_log = logging.getLogger("penstock.server")
_POLL_S = 0.2
_CLOSE_S = 5.0


class Feed(Protocol):
    """A subscriber as a reader sees it."""

    def take(self, batch: RecordBatch) -> Waker | None:
        """Take records in the reader's thread; return the event to set if there are new rows."""

    def fail(self, error: PenstockError) -> None:
        """Take the error: the topic cannot be read any more."""


#: An event, and the loop on which it has to be set.
Waker = tuple[asyncio.AbstractEventLoop, asyncio.Event]


class SharedReader:
    """Read a topic once for all attached feeds, from the end that it had at the start."""

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
        """Send all records from now on to a feed, and return the positions of the first ones.

        Args:
            feed: the subscriber.
            positions: where the feed continues; None for the reader's own positions. If the reader
                has already passed one of them, the feed is not attached and the result is None. A
                feed that is ahead of the reader skips the records that it has seen.
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
        # Without this, clients would wait for ever for rows of a reader that has stopped.
        except Exception as error:  # noqa: BLE001
            text = f"the rows of topic {self.topic!r} are no longer read: {error!r}"
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
            # One call for all subscribers, since each call wakes the loop.
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
        #: Readers without subscribers; their threads end soon.
        self._ending: list[SharedReader] = []
        self._lock = threading.Lock()
        #: Held while a reader is opened, which asks Kafka. ``release`` does not take this lock.
        self._opening = threading.Lock()

    def acquire(self, topic: str) -> SharedReader:
        """Return the reader of a topic; ``release`` it afterwards. May wait for Kafka."""
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
        """Give a reader back after use; the last ``release`` stops it. Never waits."""
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
