--@test: two streams in one
CREATE STREAM eu (id INT KEY, amount INT) WITH (KAFKA_TOPIC='eu', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM us (id INT KEY, amount DOUBLE) WITH (KAFKA_TOPIC='us', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
CREATE STREAM payments AS SELECT id, 'eu' AS region, amount FROM eu UNION ALL SELECT id, 'us', amount FROM us WHERE amount > 0;
CREATE TABLE totals AS SELECT id, SUM(amount) AS total FROM (SELECT id, amount FROM eu UNION ALL SELECT id, amount FROM us) AS b GROUP BY id;
INSERT INTO eu (ROWTIME, id, amount) VALUES (3, 1, 5);
INSERT INTO us (ROWTIME, id, amount) VALUES (2, 1, -1.5), (4, 1, 2.5);
ASSERT VALUES payments (ROWTIME, id, region, amount) VALUES (3, 1, 'eu', 5.0);
ASSERT VALUES payments (ROWTIME, id, region, amount) VALUES (4, 1, 'us', 2.5);
ASSERT VALUES totals VALUES (1, 5.0);
ASSERT VALUES totals VALUES (1, 3.5);
ASSERT VALUES totals VALUES (1, 6.0);
--@test: tables are refused
--@expected.error: union-of-tables
CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE x AS SELECT id, v FROM t UNION ALL SELECT id, v FROM t;
