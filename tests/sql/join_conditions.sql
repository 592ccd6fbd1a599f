--@test: inner with table
CREATE STREAM orders (id INT KEY, region VARCHAR, amount INT) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE limits (id INT PRIMARY KEY, region VARCHAR, most INT) WITH (KAFKA_TOPIC='limits', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM over AS SELECT o.id AS id, amount, most FROM orders o JOIN limits l ON o.amount > l.most AND o.region = l.region AND o.id = l.id;
CREATE STREAM seen AS SELECT o.id AS id, amount, most FROM orders o LEFT JOIN limits l ON o.region = l.region AND o.id = l.id;
INSERT INTO limits VALUES (1, 'eu', 10);
INSERT INTO orders VALUES (1, 'eu', 5);
INSERT INTO orders VALUES (1, 'us', 20);
INSERT INTO orders VALUES (1, 'eu', 30);
ASSERT VALUES over VALUES (1, 30, 10);
ASSERT VALUES seen VALUES (1, 5, 10);
ASSERT VALUES seen (id, amount) VALUES (1, 20);
ASSERT VALUES seen VALUES (1, 30, 10);
--@test: stream stream
CREATE STREAM a (id INT KEY, x INT, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM b (id INT KEY, x INT, v INT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM c AS SELECT a.id, a.v AS av, b.v AS bv FROM a JOIN b WITHIN 1 HOUR ON a.x = b.x AND a.id = b.id;
INSERT INTO a VALUES (1, 1, 1);
INSERT INTO b VALUES (1, 2, 2);
INSERT INTO b VALUES (1, 1, 3);
ASSERT VALUES c VALUES (1, 1, 3);
--@test: stream stream left with another condition is refused
--@expected.error: join-condition
CREATE STREAM a (id INT KEY, x INT, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM b (id INT KEY, x INT, v INT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM c AS SELECT a.id, a.v AS av, b.v AS bv FROM a LEFT JOIN b WITHIN 1 HOUR ON a.x = b.x AND a.v > b.v;
