CREATE TABLE person (
    id BIGINT PRIMARY KEY, name VARCHAR, emailAddress VARCHAR, creditCard VARCHAR, city VARCHAR,
    state VARCHAR, `dateTime` TIMESTAMP, extra VARCHAR
) WITH (KAFKA_TOPIC='nexmark-person', FORMAT='JSON', PARTITIONS=4, TIMESTAMP='`dateTime`');

CREATE TABLE auction (
    id BIGINT PRIMARY KEY, itemName VARCHAR, description VARCHAR, initialBid BIGINT,
    reserve BIGINT, `dateTime` TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT,
    extra VARCHAR
) WITH (KAFKA_TOPIC='nexmark-auction', FORMAT='JSON', PARTITIONS=4, TIMESTAMP='`dateTime`');

CREATE STREAM bid (
    auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR,
    `dateTime` TIMESTAMP, extra VARCHAR
) WITH (KAFKA_TOPIC='nexmark-bid', VALUE_FORMAT='JSON', PARTITIONS=4, TIMESTAMP='`dateTime`');

CREATE TABLE side_input (key BIGINT PRIMARY KEY, `value` VARCHAR)
    WITH (KAFKA_TOPIC='nexmark-side-input', FORMAT='JSON', PARTITIONS=4);
