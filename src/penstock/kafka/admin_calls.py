"""The calls behind ``Admin``: waiting for answers, and errors that explain failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import ClusterMetadata

from penstock.kafka.admin_failures import explained, is_transient, unreachable
from penstock.kafka.clients import new_admin_client, new_consumer, reported_errors
from penstock.kafka.error_table import Verdict, verdict
from penstock.kafka.errors import KafkaRequestError
from penstock.kafka.refusals import Right, refused, user_of

T = TypeVar("T")
E = TypeVar("E", bound=Exception)

#: How long a call waits before it checks whether the client has reported a wrong password.
_FIRST_LOOK_S = 1.0
_PAUSE_S = 0.05


class AdminCalls:
    """One admin client. Every error says what was tried, and by which user."""

    def __init__(self, settings: Mapping[str, Any], timeout_s: float) -> None:
        self.client = new_admin_client(settings)
        self._timeout_s = timeout_s
        self.bootstrap = str(settings.get("bootstrap.servers", ""))
        self._settings = dict(settings)
        self._user = user_of(settings)
        self._reported = reported_errors(self.client)

    def metadata(self, what: str) -> ClusterMetadata:
        # Remove reports of earlier calls: they are not the reason if this call fails.
        self._reports()
        self._reported.clear()
        return self._patiently(
            lambda seconds: self.client.list_topics(timeout=seconds), self._reports, what
        )

    def committed(self, group_id: str, asked: list[TopicPartition]) -> list[TopicPartition]:
        """Return a group's committed offsets, read by a consumer of the group.

        Offsets of transactions that are open are left out, and not waited for. After all brokers
        have been killed, Kafka may take a transaction for open that has ended; it would be waited
        for as long as that broker runs.

        librdkafka's admin client crashes the process while a coordinator starts (its issue 5040).
        A consumer waits for the coordinator instead.
        """
        settings = {**self._settings, "group.id": group_id, "isolation.level": "read_uncommitted"}
        consumer = new_consumer(settings)
        what, needs = (
            f"read the offsets of group {group_id!r}",
            Right("Describe", "group", group_id),
        )
        try:
            return self._patiently(
                lambda seconds: consumer.committed(asked, seconds),
                lambda: _refusal(consumer),
                what,
                needs,
            )
        finally:
            consumer.close()

    def check_visible(self, topic: str, what: str) -> None:
        """Raise ``not-allowed`` for a topic that the cluster hides from this user.

        The cluster does not list such topics, and answers as for a topic that does not exist: a
        user without the right must not learn whether the topic exists.
        """
        asked = TopicCollection([topic])
        try:
            self.client.describe_topics(asked, request_timeout=self._timeout_s)[topic].result()
        except KafkaException as failure:
            if verdict(failure.args[0]) is Verdict.FORBIDDEN:
                raise self.explained(failure, what, Right("Describe", "topic", topic)) from None

    def result(self, future: Future[Any], what: str, needs: Right | None = None) -> Any:
        try:
            return future.result()
        except KafkaException as failure:
            raise self.explained(failure, what, needs) from None

    def answer(self, ask: Callable[[], Future[Any]], what: str, needs: Right | None = None) -> Any:
        return self.tried(lambda: ask().result(), what, needs=needs)

    def tried(
        self,
        ask: Callable[[], T],
        what: str,
        passing: tuple[int, ...] = (),
        needs: Right | None = None,
    ) -> T:
        """Repeat a request while the broker is not ready, or answers with a passing error.

        A passing error that lasts says that the broker is slow, not that it refuses.
        """

        def may_pass(failure: KafkaException) -> bool:
            return failure.args[0].code() in passing or is_transient(failure)

        try:
            return repeated(ask, KafkaException, may_pass, self._timeout_s)
        except KafkaException as failure:
            if failure.args[0].code() in passing:
                raise unreachable(what, self.bootstrap, failure.args[0].str()) from None
            raise self.explained(failure, what, needs) from None

    def explained(
        self, failure: KafkaException, what: str, needs: Right | None = None
    ) -> KafkaRequestError:
        self._reports()
        return explained(
            failure, what, self.bootstrap, reported=self._reported, user=self._user, needs=needs
        )

    def _patiently(
        self,
        ask: Callable[[float], T],
        refusal: Callable[[], KafkaError | None],
        what: str,
        needs: Right | None = None,
    ) -> T:
        """Wait for an answer up to ``timeout_s``, or until the login is refused.

        librdkafka repeats a wrong password until the call times out. So this waits for a second,
        then for two, and so on, and looks for a reported refusal in between.
        """
        deadline, patience_s = time.monotonic() + self._timeout_s, _FIRST_LOOK_S
        while True:
            left_s = deadline - time.monotonic()
            try:
                return ask(max(0.1, min(patience_s, left_s)))
            except KafkaException as failure:
                error = refusal()
                if error is not None:
                    raise refused(error, what, user=self._user, needs=needs) from None
                if not is_transient(failure) or left_s <= patience_s:
                    raise self.explained(failure, what, needs) from None
            patience_s *= 2
            time.sleep(0.05)

    def _reports(self) -> KafkaError | None:
        self.client.poll(0)
        return self._reported.refusal


def repeated(
    ask: Callable[[], T], failing: type[E], may_pass: Callable[[E], bool], patience_s: float
) -> T:
    """Ask again after a failure that may pass, for at most ``patience_s`` seconds."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return ask()
        except failing as failure:
            if not may_pass(failure) or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_S)


def _refusal(consumer: Consumer) -> KafkaError | None:
    """Poll a consumer without partitions, which can return nothing but errors."""
    message = consumer.poll(0)
    error = None if message is None else message.error()
    if error is not None and verdict(error) is Verdict.FORBIDDEN:
        return error
    return reported_errors(consumer).refusal
