"""What a plain transactional producer does when requests and answers are lost on their way.

Observed with librdkafka 2.16 and Kafka 4.3; the Spark runtime rests on it:

- Lost answers are waited for ``socket.timeout.ms`` long, then the request is sent again; a closed
  connection is noticed at once. EndTxn, Produce, InitProducerId, AddPartitionsToTxn,
  AddOffsetsToTxn and TxnOffsetCommit can all be sent twice: the outcome is the same, and records
  are written once.
- ``commit_transaction`` that runs into its own timeout raises ``_TIMED_OUT`` with ``retriable()``.
  The commit goes on in the background: the same call again resumes it. Every other call, even
  ``abort_transaction``, raises ``_CONFLICT`` until then. The transaction may be committed already.
- A new producer with the same transactional id settles the question: its ``init_transactions``
  leaves a transaction committed that the broker has decided on, and aborts one that it has not
  heard the end of. The old producer's commit then raises ``_FENCED``, fatal, in **both** cases: the
  error does not say whether the transaction was committed.
- A transaction that the broker ended for its age (``transaction.timeout.ms``) also shows as a fatal
  ``_FENCED``, though no other producer exists. After any fatal error every call raises it again,
  ``poll`` too: only a new producer helps.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from penstock.kafka.admin import Admin
from penstock.kafka.embedded import EmbeddedBroker
from penstock.kafka.error_table import Verdict, verdict
from tests.integration.kafka.proxy import Api, KafkaProxy, Side, proxied_broker
from tests.integration.kafka.records import read

pytestmark = pytest.mark.kafka

PATIENT_S = 60.0
#: How long librdkafka waits for an answer before it asks again.
ANSWER_MS = 1_500


@dataclass
class Line:
    """A broker behind its proxy, and a topic for one test."""

    broker: EmbeddedBroker
    proxy: KafkaProxy
    topic: str

    def producer(self, **settings: object) -> Producer:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        return Producer(
            {
                "bootstrap.servers": self.broker.bootstrap_servers,
                "transactional.id": self.topic,
                "socket.timeout.ms": ANSWER_MS,
                "log_level": 0,
                **given,
            }
        )

    def begun(self, **settings: object) -> Producer:
        """A producer within a transaction that has one record, which is at the broker."""
        producer = self.producer(**settings)
        producer.init_transactions(PATIENT_S)
        producer.begin_transaction()
        producer.produce(self.topic, "a", "k")
        assert producer.flush(PATIENT_S) == 0
        return producer

    def await_end_of_transactions(self) -> None:
        """Returns when the broker has marked what it decided on; it answers before."""
        admin, at = Admin({"bootstrap.servers": self.broker.internal_servers}), [(self.topic, 0)]
        deadline = time.monotonic() + PATIENT_S
        while admin.end_offsets(at, committed=True) != admin.end_offsets(at):
            assert time.monotonic() < deadline, "a transaction stays open"
            time.sleep(0.05)

    def committed(self) -> list[str | None]:
        self.await_end_of_transactions()
        return [value for _, value in read(self.broker.internal_servers, self.topic)]


@pytest.fixture(scope="module")
def proxied(needs_java: None) -> Iterator[tuple[EmbeddedBroker, KafkaProxy]]:
    with proxied_broker() as pair:
        yield pair


_numbers = count(1)


@pytest.fixture
def line(proxied: tuple[EmbeddedBroker, KafkaProxy]) -> Iterator[Line]:
    broker, proxy = proxied
    topic = f"lost-{next(_numbers)}"
    Admin({"bootstrap.servers": broker.internal_servers}).create_topic(topic)
    yield Line(broker, proxy, topic)
    proxy.heal()


def failure(call: Callable[[], object]) -> KafkaError:
    with pytest.raises(KafkaException) as raised:
        call()
    error = raised.value.args[0]
    assert isinstance(error, KafkaError)
    return error


@pytest.mark.parametrize(
    ("break_it", "side"),
    [
        (KafkaProxy.drop_answers, Side.ANSWER),
        (KafkaProxy.close_on_answer, Side.ANSWER),
        (KafkaProxy.drop_requests, Side.REQUEST),
        (KafkaProxy.close_on_request, Side.REQUEST),
    ],
)
def test_commit_that_is_lost_on_its_way_is_sent_again_and_counts_once(
    line: Line, break_it: Callable[[KafkaProxy, int], None], side: Side
) -> None:
    """The second EndTxn finds the transaction as the first left it."""
    producer = line.begun()
    sent, met = line.proxy.count(Api.END_TXN), line.proxy.met(Api.END_TXN, side)
    break_it(line.proxy, Api.END_TXN)
    producer.commit_transaction(PATIENT_S)
    assert line.proxy.met(Api.END_TXN, side) == met + 1
    assert line.proxy.count(Api.END_TXN) >= sent + 2
    assert line.committed() == ["a"]
    producer.begin_transaction()
    producer.produce(line.topic, "b", "k")
    producer.commit_transaction(PATIENT_S)
    assert line.committed() == ["a", "b"]


def test_commit_that_timed_out_is_resumed_by_the_same_call_alone(line: Line) -> None:
    """It goes on in the background, so it cannot be taken back either."""
    producer = line.begun()
    line.proxy.drop_answers(Api.END_TXN)
    error = failure(lambda: producer.commit_transaction(0.5))
    assert error.code() == KafkaError._TIMED_OUT
    assert error.retriable()
    assert verdict(error) is Verdict.WAIT
    assert failure(lambda: producer.abort_transaction(1)).code() == KafkaError._CONFLICT
    producer.commit_transaction(PATIENT_S)
    assert line.committed() == ["a"]


@pytest.mark.parametrize(
    ("lose", "outcome"), [(KafkaProxy.drop_answers, ["a"]), (KafkaProxy.drop_requests, [])]
)
def test_new_producer_settles_a_commit_whose_answer_is_missing(
    line: Line, lose: Callable[[KafkaProxy, int, int], None], outcome: list[str]
) -> None:
    """Either outcome is final then, and the old producer cannot tell which one it is."""
    old = line.begun()
    lose(line.proxy, Api.END_TXN, 100)
    assert failure(lambda: old.commit_transaction(0.5)).code() == KafkaError._TIMED_OUT
    line.producer().init_transactions(PATIENT_S)
    line.proxy.heal()
    error = failure(lambda: old.commit_transaction(PATIENT_S))
    assert error.code() == KafkaError._FENCED
    assert verdict(error) is Verdict.RENEW
    assert failure(lambda: old.poll(0)).fatal()
    assert line.committed() == outcome


def test_transaction_that_grew_too_old_looks_like_a_fenced_one(line: Line) -> None:
    """The runtime therefore looks into its own log before it believes in another producer."""
    producer = line.begun(transaction_timeout_ms=2_000)
    line.await_end_of_transactions()
    error = failure(lambda: producer.commit_transaction(PATIENT_S))
    assert error.code() == KafkaError._FENCED
    assert error.fatal()
    assert failure(lambda: producer.abort_transaction(1)).fatal()
    assert line.committed() == []


@pytest.mark.parametrize("api", [Api.PRODUCE, Api.ADD_PARTITIONS_TO_TXN, Api.INIT_PRODUCER_ID])
def test_lost_answer_writes_no_record_twice(line: Line, api: Api) -> None:
    """Sequence numbers let the broker know what it has."""
    before = line.proxy.met(api)
    line.proxy.drop_answers(api)
    producer = line.producer()
    producer.init_transactions(PATIENT_S)
    producer.begin_transaction()
    for value in "abc":
        producer.produce(line.topic, value, "k")
    producer.commit_transaction(PATIENT_S)
    assert line.proxy.met(api) - before == 1
    assert line.committed() == ["a", "b", "c"]


@pytest.mark.parametrize("api", [Api.ADD_OFFSETS_TO_TXN, Api.TXN_OFFSET_COMMIT])
def test_lost_answer_commits_offsets_all_the_same(line: Line, api: Api) -> None:
    """Offsets are part of the transaction, and sending them again changes nothing."""
    producer = line.begun()
    group = Consumer({"bootstrap.servers": line.broker.internal_servers, "group.id": line.topic})
    offsets = [TopicPartition(line.topic, 0, 7)]
    line.proxy.drop_answers(api)
    producer.send_offsets_to_transaction(offsets, group.consumer_group_metadata(), PATIENT_S)
    producer.commit_transaction(PATIENT_S)
    group.close()
    admin = Admin({"bootstrap.servers": line.broker.internal_servers})
    assert admin.group_offsets(line.topic) == {(line.topic, 0): 7}


def test_delayed_and_held_answers_arrive_later(line: Line) -> None:
    """A slow network is not a broken one."""
    producer = line.begun()
    line.proxy.delay(Api.END_TXN, 0.7)
    started = time.monotonic()
    producer.commit_transaction(PATIENT_S)
    assert time.monotonic() - started >= 0.7
    producer.begin_transaction()
    producer.produce(line.topic, "b", "k")
    line.proxy.hold(0.7)
    started = time.monotonic()
    producer.commit_transaction(PATIENT_S)
    assert time.monotonic() - started >= 0.5
    assert line.committed() == ["a", "b"]


def test_cut_and_refused_connections_are_made_again(line: Line) -> None:
    """The producer goes on where it was, when the broker can be reached again."""
    producer = line.begun()
    line.proxy.cut()
    producer.produce(line.topic, "b", "k")
    assert producer.flush(PATIENT_S) == 0
    line.proxy.down()
    assert failure(lambda: producer.commit_transaction(1)).code() == KafkaError._TIMED_OUT
    line.proxy.up()
    producer.commit_transaction(PATIENT_S)
    assert line.committed() == ["a", "b"]
