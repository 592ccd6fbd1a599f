-- From the outbox of a database to a table of totals in it.
-- ${host}, ${port}, ${database}, ${user} and ${password} are given with --define.

-- Debezium reads the change log of PostgreSQL. Its router makes a record of each row of the outbox:
-- aggregatetype says the topic, aggregateid is the key, payload is the value. ${routedByValue} is no
-- variable of this script, so it reaches the router as it is.
CREATE SOURCE CONNECTOR IF NOT EXISTS `outbox` WITH (
    'connector.class' = 'io.debezium.connector.postgresql.PostgresConnector',
    'database.hostname' = '${host}',
    'database.port' = '${port}',
    'database.dbname' = '${database}',
    'database.user' = '${user}',
    'database.password' = '${password}',
    'topic.prefix' = 'shop',
    'plugin.name' = 'pgoutput',
    'publication.autocreate.mode' = 'filtered',
    'table.include.list' = 'public.outbox',
    'tombstones.on.delete' = 'false',
    'transforms' = 'route',
    'transforms.route.type' = 'io.debezium.transforms.outbox.EventRouter',
    'transforms.route.route.topic.replacement' = 'shop.${routedByValue}',
    'transforms.route.table.expand.json.payload' = 'true'
);

CREATE STREAM order_events (order_id VARCHAR KEY, customer VARCHAR, amount DOUBLE)
    WITH (KAFKA_TOPIC = 'shop.order', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- A JDBC sink has to know the types of columns. So each value brings its schema along, in the form
-- of Connect's JSON converter: {"schema": ..., "payload": ...}.
CREATE TABLE customer_totals WITH (KAFKA_TOPIC = 'customer_totals', VALUE_FORMAT = 'JSON') AS
    SELECT customer,
        STRUCT(`type` := 'struct', `optional` := FALSE, `fields` := ARRAY[
            STRUCT(`field` := 'customer', `type` := 'string', `optional` := FALSE),
            STRUCT(`field` := 'orders', `type` := 'int64', `optional` := FALSE),
            STRUCT(`field` := 'spent', `type` := 'double', `optional` := FALSE)
        ]) AS `schema`,
        STRUCT(`customer` := customer, `orders` := COUNT(*), `spent` := SUM(amount)) AS `payload`
    FROM order_events
    GROUP BY customer
    EMIT CHANGES;

-- An upsert by customer: a record that comes twice changes nothing.
CREATE SINK CONNECTOR IF NOT EXISTS `totals` WITH (
    'connector.class' = 'io.debezium.connector.jdbc.JdbcSinkConnector',
    'topics' = 'customer_totals',
    'connection.url' = 'jdbc:postgresql://${host}:${port}/${database}',
    'connection.username' = '${user}',
    'connection.password' = '${password}',
    'insert.mode' = 'upsert',
    'primary.key.mode' = 'record_value',
    'primary.key.fields' = 'customer',
    'collection.name.format' = 'customer_totals',
    'schema.evolution' = 'none',
    'value.converter' = 'org.apache.kafka.connect.json.JsonConverter',
    'value.converter.schemas.enable' = 'true'
);
