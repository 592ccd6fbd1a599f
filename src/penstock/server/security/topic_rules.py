"""Topics that statements must leave alone: those of servers, and those that the settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.config import SERVER_COMMAND_TOPIC
from penstock.errors import ConfigError
from penstock.server.commands.log import commands_topic
from penstock.server.errors import BadStatementError, ForbiddenError
from penstock.server.security.masking import is_command_topic
from penstock.serving.credentials import Access
from penstock.sql.catalog.catalog import Catalog
from penstock.sql.ksql_settings import (
    DEFAULT_SERVICE,
    HIDDEN_TOPICS,
    READONLY_TOPICS,
    SERVICE_ID,
    SYSTEM_TOPICS,
)
from penstock.sql.planner.plan import QueryPlan
from penstock.sql.trial import Trial

#: Topics of servers and their Connect workers. They hold commands, and settings of connectors.
_PRIVATE = "_penstock-"
#: Topics of queries: changelogs, repartitions and batch logs.
_OWN = (_PRIVATE, "_confluent-ksql-")
#: Kafka's own topics, which ksqlDB's listings leave out as well.
_KAFKA = "__"


@dataclass(frozen=True, slots=True)
class TopicRules:
    """Decide which topics statements may not write, which need a role, and which are not listed.

    Commands have no author: a program that writes to the command topic can run every statement on
    every server. So only servers write there, whatever the role of a caller is.
    """

    _read_only: re.Pattern[str]
    _hidden: re.Pattern[str]
    #: The command topic of this server, whose name a setting may choose.
    _commands: str

    @staticmethod
    def of(settings: Mapping[str, str]) -> TopicRules:
        """Return the rules of a server.

        Raises:
            ConfigError: ``bad-setting``, if an entry of a list is not a pattern.
        """
        return TopicRules(
            _pattern(READONLY_TOPICS, settings.get(READONLY_TOPICS, SYSTEM_TOPICS)),
            _pattern(HIDDEN_TOPICS, settings.get(HIDDEN_TOPICS, SYSTEM_TOPICS)),
            commands_topic(
                settings.get(SERVICE_ID, DEFAULT_SERVICE), settings.get(SERVER_COMMAND_TOPIC.name)
            ),
        )

    def has_commands(self, topic: str) -> bool:
        """Return whether the records of a topic are commands of servers, going by its name."""
        return topic == self._commands or is_command_topic(topic)

    def _is_private(self, topic: str) -> bool:
        return topic == self._commands or topic.startswith(_PRIVATE)

    def is_read_only(self, topic: str) -> bool:
        if topic == self._commands or topic.startswith(_OWN):
            return True
        return self._read_only.fullmatch(topic) is not None

    def is_hidden(self, topic: str) -> bool:
        """Return whether SHOW TOPICS leaves a topic out; SHOW ALL TOPICS lists it."""
        if topic == self._commands or topic.startswith((*_OWN, _KAFKA)):
            return True
        return self._hidden.fullmatch(topic) is not None

    def check_write(self, topic: str) -> None:
        """Refuse to write to a topic, or to delete it.

        Raises:
            BadStatementError: ``read-only-topic``.
        """
        if self.is_read_only(topic):
            raise BadStatementError(
                "read-only-topic",
                f"topic {topic!r} is read-only",
                fix=f"use another topic; {READONLY_TOPICS} lists those that are read-only, and"
                " internal topics always are",
            )

    def check_read(self, topic: str, access: Access) -> None:
        """Refuse to show the topics of servers to callers without the role admin.

        Raises:
            ForbiddenError: ``forbidden``.
        """
        if self._is_private(topic) and access < Access.FULL:
            raise ForbiddenError(
                "forbidden", f"topic {topic!r} belongs to the servers: reading it needs admin"
            )

    def check_sources(self, plan: QueryPlan, access: Access) -> None:
        """Refuse a query over streams and tables that an admin has made of the servers' topics.

        Raises:
            ForbiddenError: ``forbidden``.
        """
        for source in plan.sources:
            self.check_read(source.topic, access)

    def check(self, before: Catalog, trial: Trial, access: Access) -> None:
        """Refuse a statement that writes to a read-only topic, or opens one of the servers.

        Args:
            before: The catalog that the statement was tried on.
            trial: What the statement does.
            access: What the caller may do.

        Raises:
            ServerError: ``read-only-topic`` or ``forbidden``.
        """
        for each in trial.outgoing:
            self.check_write(each.topic)
        for name, query in trial.catalog.queries.items():
            former = before.queries.get(name)
            if query.plan.sink is not None and former is None:
                self.check_write(query.plan.sink.topic)
            if former is None or former.plan is not query.plan:
                self.check_sources(query.plan, access)
        for name, source in trial.catalog.sources.items():
            if before.sources.get(name) is not source:
                self.check_read(source.topic, access)


def _pattern(name: str, entries: str) -> re.Pattern[str]:
    """Return one pattern for a list; each entry is a name, or a pattern of names."""
    given = [entry.strip() for entry in entries.split(",") if entry.strip()]
    try:
        return re.compile("|".join(f"(?:{entry})" for entry in given) or "(?!)")
    except re.error as error:
        raise ConfigError(
            "bad-setting",
            f"{name} is {entries!r}, and an entry of it is not a pattern: {error}",
            fix="write names or regular expressions, with commas between them",
        ) from None
