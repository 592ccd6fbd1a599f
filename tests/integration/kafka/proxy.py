"""A proxy in front of one broker that loses, delays or cuts the messages that a test chooses.

The broker advertises the proxy's port, so every connection of a client passes here::

    with proxied_broker() as (broker, proxy):
        proxy.drop_answers(Api.END_TXN)
        producer.commit_transaction(30)

It reads frames and not bytes: each request and each answer begins with its length, a request then
has api key, version and correlation id, an answer the correlation id of its request.
"""

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, IntEnum
from types import TracebackType

from penstock.kafka.broker_folder import free_port
from penstock.kafka.broker_listener import HOST, ClientListener
from penstock.kafka.embedded import EmbeddedBroker


class Api(IntEnum):
    """The requests that tests interfere with, by Kafka's api key."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    FIND_COORDINATOR = 10
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28


class Side(Enum):
    """Which way a frame goes."""

    REQUEST = "client to broker"
    ANSWER = "broker to client"


class Act(Enum):
    """What happens to a frame instead of passing at once."""

    DROP = "is lost; the connection stays"
    CLOSE = "is lost, and the connection is closed"
    DELAY = "passes later, and so does all that follows it"


@dataclass
class _Rule:
    api: int
    side: Side
    act: Act
    #: How many frames it still applies to.
    left: int
    seconds: float = 0.0


class KafkaProxy:
    """Stands between clients and one broker. Rules apply to frames in the order they were made."""

    def __init__(self) -> None:
        self.port = free_port()
        self._target: int | None = None
        self._listening = socket.create_server((HOST, self.port))
        self._lock = threading.Lock()
        self._rules: list[_Rule] = []
        self._seen: Counter[tuple[int, Side]] = Counter()
        self._met: Counter[tuple[int, Side]] = Counter()
        self._throttles: Counter[int] = Counter()
        self._connections: set[_Connection] = set()
        #: How many connections were refused.
        self.refused = 0
        self._is_down = False
        self._held_until = 0.0
        threading.Thread(target=self._accept, daemon=True).start()

    def forward_to(self, port: int) -> None:
        """Names the broker's own port; before this, and while it is down, clients are refused."""
        self._target = port

    def drop_requests(self, api: int, times: int = 1) -> None:
        """The broker never hears of the request; the client waits for an answer."""
        self._add(_Rule(api, Side.REQUEST, Act.DROP, times))

    def drop_answers(self, api: int, times: int = 1) -> None:
        """The broker does what it is asked, and the client never learns."""
        self._add(_Rule(api, Side.ANSWER, Act.DROP, times))

    def close_on_request(self, api: int, times: int = 1) -> None:
        """The connection is lost before the broker hears of the request."""
        self._add(_Rule(api, Side.REQUEST, Act.CLOSE, times))

    def close_on_answer(self, api: int, times: int = 1) -> None:
        """The connection is lost after the broker did what it was asked."""
        self._add(_Rule(api, Side.ANSWER, Act.CLOSE, times))

    def delay(self, api: int, seconds: float, times: int = 1, side: Side = Side.ANSWER) -> None:
        """Requests or answers pass later; on their connection all that follows them waits too."""
        self._add(_Rule(api, side, Act.DELAY, times, seconds))

    def hold(self, seconds: float) -> None:
        """Nothing passes for some time, and then everything does: a network that hangs."""
        self._held_until = time.monotonic() + seconds

    def cut(self) -> None:
        """Closes every connection; clients may connect again at once."""
        for connection in self._current():
            connection.close()

    def down(self) -> None:
        """Closes every connection and refuses new ones until ``up``."""
        self._is_down = True
        self.cut()

    def up(self) -> None:
        self._is_down = False

    def heal(self) -> None:
        """Forgets every rule and lets everything pass."""
        with self._lock:
            self._rules.clear()
        self._held_until = 0.0
        self._is_down = False

    def count(self, api: int, side: Side = Side.REQUEST) -> int:
        """How many frames came to the proxy, whatever became of them."""
        return self._seen[api, side]

    def met(self, api: int, side: Side = Side.ANSWER) -> int:
        """How many frames a rule has been applied to."""
        return self._met[api, side]

    def throttle_ms(self, api: int) -> int:
        """The sum of the throttle times in the broker's answers: how long quotas hold clients."""
        return self._throttles[api]

    def close(self) -> None:
        self.down()
        self._listening.close()

    def __enter__(self) -> "KafkaProxy":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _add(self, rule: _Rule) -> None:
        with self._lock:
            self._rules.append(rule)

    def _current(self) -> list["_Connection"]:
        with self._lock:
            return list(self._connections)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            connection = self._connect(client)
            if connection is None:
                self.refused += 1
                client.close()
                continue
            with self._lock:
                self._connections.add(connection)
            connection.start()

    def _connect(self, client: socket.socket) -> "_Connection | None":
        if self._is_down or self._target is None:
            return None
        try:
            broker = socket.create_connection((HOST, self._target), timeout=5)
        except OSError:
            return None
        broker.settimeout(None)
        for side in (client, broker):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Connection(self, client, broker)

    def _forget(self, connection: "_Connection") -> None:
        with self._lock:
            self._connections.discard(connection)

    def _passes(self, api: int, side: Side) -> bool | None:
        """Whether a frame may pass, after any delay; None closes its connection."""
        rule = self._take(api, side)
        if rule is not None and rule.act is Act.DELAY:
            time.sleep(rule.seconds)
        while (left := self._held_until - time.monotonic()) > 0:
            time.sleep(min(left, 0.05))
        if rule is None or rule.act is Act.DELAY:
            return True
        return False if rule.act is Act.DROP else None

    def _take(self, api: int, side: Side) -> _Rule | None:
        with self._lock:
            self._seen[api, side] += 1
            for rule in self._rules:
                if rule.api == api and rule.side is side and rule.left > 0:
                    rule.left -= 1
                    self._met[api, side] += 1
                    return rule
        return None


class _Connection:
    """One client's connection and the one to the broker behind it; both end together."""

    def __init__(self, proxy: KafkaProxy, client: socket.socket, broker: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._broker = broker
        #: Api key and version of each request that waits for its answer.
        self._apis: dict[int, tuple[int, int]] = {}

    def start(self) -> None:
        for work in (self._requests, self._answers):
            threading.Thread(target=work, daemon=True).start()

    def close(self) -> None:
        self._proxy._forget(self)
        for side in (self._client, self._broker):
            # A thread that waits for data on a socket learns of its end from shutdown alone.
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
            side.close()

    def _requests(self) -> None:
        for frame in self._frames(self._client):
            api, version, correlation = struct.unpack_from(">hhi", frame, 4)
            self._apis[correlation] = api, version
            if not self._pass_on(frame, api, Side.REQUEST, self._broker):
                return

    def _answers(self) -> None:
        for frame in self._frames(self._broker):
            (correlation,) = struct.unpack_from(">i", frame, 4)
            api, version = self._apis.pop(correlation, (-1, 0))
            self._proxy._throttles[api] += _throttle_ms(frame, api, version)
            if not self._pass_on(frame, api, Side.ANSWER, self._client):
                return

    def _pass_on(self, frame: bytes, api: int, side: Side, to: socket.socket) -> bool:
        """Sends a frame unless a rule says otherwise; says whether the connection goes on."""
        match self._proxy._passes(api, side):
            case True:
                try:
                    to.sendall(frame)
                except OSError:
                    self.close()
                    return False
            case None:
                self.close()
                return False
        return True

    def _frames(self, source: socket.socket) -> Iterator[bytes]:
        """The frames that come, with their lengths; the connection is closed after the last."""
        with suppress(OSError):
            while length := _exactly(source, 4):
                body = _exactly(source, int.from_bytes(length, "big"))
                if not body:
                    break
                yield length + body
        self.close()


def _throttle_ms(frame: bytes, api: int, version: int) -> int:
    """The throttle time of an answer to a fetch, where it is first, or to a produce: there last."""
    if api == Api.FETCH and version >= 12:
        return int(struct.unpack_from(">i", frame, 9)[0])
    if api == Api.FETCH and version >= 1:
        return int(struct.unpack_from(">i", frame, 8)[0])
    if api == Api.PRODUCE and version >= 9:
        # One byte follows: the number of tagged fields, 0 unless a leader has changed.
        return int(struct.unpack_from(">i", frame, len(frame) - 5)[0]) if frame[-1] == 0 else 0
    if api == Api.PRODUCE and version >= 1:
        return int(struct.unpack_from(">i", frame, len(frame) - 4)[0])
    return 0


def _exactly(source: socket.socket, size: int) -> bytes:
    """That many bytes, or none when the connection ends before."""
    found = bytearray()
    while len(found) < size:
        part = source.recv(size - len(found))
        if not part:
            return b""
        found += part
    return bytes(found)


@contextmanager
def proxied_broker() -> Iterator[tuple[EmbeddedBroker, KafkaProxy]]:
    """A broker that clients reach through a proxy: ``broker.bootstrap_servers`` is the proxy's."""
    with (
        KafkaProxy() as proxy,
        EmbeddedBroker(listener=ClientListener(advertised_port=proxy.port)) as broker,
    ):
        proxy.forward_to(broker.port)
        yield broker, proxy
