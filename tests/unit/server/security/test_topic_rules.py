"""Topics that statements must leave alone. Exercises ``security.topic_rules``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock.errors import ConfigError
from penstock.server.commands.command import Command
from penstock.server.commands.log import commands_topic
from penstock.server.errors import BadStatementError, ForbiddenError
from penstock.server.host_topic import hosts_topic
from penstock.server.node import ServerNode
from penstock.server.security.topic_rules import TopicRules
from penstock.serving.credentials import Access
from tests.unit.server.memory import new_node
from tests.unit.server.query_memory import Call, QueryWorld, query

COMMANDS = commands_topic("default_")
ORDERS = """
    CREATE STREAM s (id VARCHAR KEY, v VARCHAR)
        WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
"""
OPENED = f"""
    CREATE STREAM c (v VARCHAR)
        WITH (KAFKA_TOPIC='{COMMANDS}', VALUE_FORMAT='KAFKA', PARTITIONS=1);
"""


@pytest.fixture
def node() -> Iterator[ServerNode]:
    made = new_node(settings={"ksql.readonly.topics": "audit.*, bills"})[0].start()
    made.execute(ORDERS)
    yield made
    made.close()


@pytest.mark.parametrize("access", [Access.READ, Access.WRITE])
def test_only_admins_open_the_command_topic(node: ServerNode, access: Access) -> None:
    """Commands have settings with secrets, so a stream over them is not for everyone."""
    with pytest.raises(ForbiddenError):
        node.execute(OPENED, access=access)
    assert "C" not in node.engine.catalog.sources


@pytest.mark.parametrize("topic", [COMMANDS, "_confluent-ksql-default_query_X-changelog"])
def test_nobody_writes_to_the_topics_of_servers(node: ServerNode, topic: str) -> None:
    """Whoever could would run any statement on all servers, whatever the own role is."""
    node.execute(OPENED.replace(COMMANDS, topic))
    for sql in (
        "INSERT INTO c VALUES ('forged');",
        f"CREATE STREAM t WITH (KAFKA_TOPIC='{topic}') AS SELECT * FROM s;",
        "INSERT INTO c SELECT v FROM s PARTITION BY NULL;",
        "DROP STREAM c DELETE TOPIC;",
    ):
        with pytest.raises(BadStatementError) as refused:
            node.execute(sql)
        assert "read-only" in refused.value.message, sql
        assert refused.value.statement
    assert node.engine.catalog.queries == {}
    assert "C" in node.engine.catalog.sources


@pytest.mark.parametrize(("topic", "is_open"), [("audit-2", False), ("bills", False), ("a", True)])
def test_the_settings_name_further_topics(node: ServerNode, topic: str, is_open: bool) -> None:
    """Entries are names or patterns, as in ksqlDB, with blanks around them or without."""
    sql = f"CREATE STREAM t WITH (KAFKA_TOPIC='{topic}') AS SELECT * FROM s;"
    if is_open:
        assert node.execute(sql)
    else:
        with pytest.raises(BadStatementError, match="read-only"):
            node.execute(sql)


def test_a_stream_over_a_read_only_topic_can_be_read(node: ServerNode) -> None:
    """Only writing is refused: it is how users look at the topics of others."""
    node.execute(OPENED.replace(COMMANDS, "audit"), access=Access.WRITE)
    assert node.execute("CREATE STREAM t AS SELECT * FROM c;", access=Access.WRITE)


def test_hidden_topics_are_those_of_ksqldb() -> None:
    """A topic of a user may begin with an underscore."""
    usual = TopicRules.of({})
    hidden = [COMMANDS, hosts_topic("x"), "__consumer_offsets", "_schemas", "connect-status"]
    assert all(map(usual.is_hidden, hidden))
    assert not any(map(usual.is_hidden, ["_mine", "connect-me", "orders"]))
    own = TopicRules.of({"ksql.hidden.topics": "secret.*"})
    assert own.is_hidden("secrets")
    assert own.is_hidden(COMMANDS)
    assert not own.is_hidden("_schemas")


def test_a_bad_pattern_is_told_at_the_start() -> None:
    """Not when the first statement comes."""
    with pytest.raises(ConfigError) as refused:
        TopicRules.of({"ksql.readonly.topics": "a,("})
    assert refused.value.code == "bad-setting"


def test_a_stream_that_an_admin_has_opened_is_for_admins(node: ServerNode) -> None:
    """Otherwise a writer would copy the commands into a topic of his own."""
    node.execute(OPENED)
    copied = "CREATE STREAM copied AS SELECT * FROM c;"
    with pytest.raises(ForbiddenError):
        node.execute(copied, access=Access.WRITE)
    assert node.execute(copied)
    for sql in ("PAUSE ALL;", "CREATE STREAM t AS SELECT * FROM s;"):
        assert node.execute(sql, access=Access.WRITE)


def test_queries_over_opened_topics_need_the_role(world: QueryWorld) -> None:
    """Pull and push queries show what PRINT shows."""
    world.topics.create(COMMANDS)
    world.topics.add(COMMANDS, None, b"{}")
    world.host.engine.execute(OPENED, answers=False)

    async def test() -> None:
        earliest = {"auto.offset.reset": "earliest"}
        for sql in (
            "SELECT * FROM c;",
            "SELECT * FROM c;",
            "SELECT * FROM c EMIT CHANGES LIMIT 1;",
        ):
            for access, status in ((Access.WRITE, 403), (Access.FULL, 200)):
                body = query(sql, streamsProperties=earliest)
                call = Call(world, "/query", body, **{"penstock.access": access})
                await call.text()
                assert call.status == status, sql

    asyncio.run(asyncio.wait_for(test(), 30))


def test_printing_commands_hides_secrets(world: QueryWorld) -> None:
    """Also from admins, who look at the topic to find out what went wrong."""
    world.topics.create(COMMANDS)
    command = Command(
        id="x",
        statement="ALTER SYSTEM 'ssl.key.password'='hunter2'",
        properties={"ssl.keystore.password": "hunter3", "auto.offset.reset": "earliest"},
        variables={"PW": "hunter4"},
    )
    world.topics.add(COMMANDS, b"x", command.to_bytes())
    world.topics.add(COMMANDS, b"y", b"hunter5")
    texts: list[str] = []

    async def test() -> None:
        call = Call(world, "/query", query(f"PRINT '{COMMANDS}' FROM BEGINNING LIMIT 2;"))
        texts.append((await call.text()).decode())

    asyncio.run(asyncio.wait_for(test(), 30))
    assert "hunter" not in texts[0]
    assert "ALTER SYSTEM 'ssl.key.password'='[hidden]'" in texts[0]
    assert '"auto.offset.reset":"earliest"' in texts[0]


def test_queries_ask_the_rules_of_their_server(world: QueryWorld) -> None:
    """There is one set of rules: endpoints of queries do not read the settings again."""
    world.execute(ORDERS)
    world.host.topic_rules = TopicRules.of({"ksql.readonly.topics": "s"})

    async def test() -> None:
        call = Call(world, "/inserts-stream", b'{"target": "S"}\n{"ID": "a", "V": "b"}\n')
        assert b"read-only" in await call.text()

    asyncio.run(asyncio.wait_for(test(), 30))


def test_printing_and_inserting_over_http(world: QueryWorld) -> None:
    """The endpoints of queries know the same rules."""
    world.topics.create(COMMANDS)
    world.topics.add(COMMANDS, None, b"{}")
    world.host.engine.execute(OPENED, answers=False)

    async def test() -> None:
        sql = query(f"PRINT '{COMMANDS}' FROM BEGINNING LIMIT 1;")
        for access, status in ((Access.READ, 403), (Access.WRITE, 403), (Access.FULL, 200)):
            call = Call(world, "/query", sql, **{"penstock.access": access})
            await call.text()
            assert call.status == status
        call = Call(world, "/inserts-stream", b'{"target": "C"}\n{"V": "forged"}\n')
        assert b"read-only" in await call.text()
        assert call.status == 400

    asyncio.run(asyncio.wait_for(test(), 30))
    assert len(world.topics.partitions[COMMANDS][0]) == 1


def test_a_command_topic_with_another_name_is_as_private() -> None:
    """The setting may name it as ksqlDB does, or in any other way."""
    given = {"ksql.service.id": "shop_", "penstock.server.command.topic": "c-${ksql.service.id}"}
    rules = TopicRules.of(given)
    assert rules.has_commands("c-shop_")
    assert rules.is_read_only("c-shop_")
    assert rules.is_hidden("c-shop_")
    with pytest.raises(ForbiddenError):
        rules.check_read("c-shop_", Access.WRITE)
    rules.check_read("c-shop_", Access.FULL)
    assert not rules.has_commands("c-other_")
    assert rules.has_commands(commands_topic("default_"))
