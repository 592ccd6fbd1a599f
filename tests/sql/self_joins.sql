--@test: a stream with itself
CREATE STREAM s (id INT KEY, at VARCHAR, ok BOOLEAN) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM pairs AS SELECT a.id AS id, a.at AS first, b.at AS later FROM s a JOIN s b WITHIN (0 SECONDS, 1 SECOND) ON a.id = b.id AND a.at < b.at;
INSERT INTO s (ROWTIME, id, at) VALUES (1, 1, 'x'), (5, 2, 'x'), (900, 1, 'y'), (1500, 1, 'z');
ASSERT VALUES pairs (ROWTIME, id, first, later) VALUES (900, 1, 'x', 'y');
ASSERT VALUES pairs (ROWTIME, id, first, later) VALUES (1500, 1, 'y', 'z');
--@test: a table with itself on a foreign key
CREATE TABLE staff (id INT PRIMARY KEY, name VARCHAR, boss INT) WITH (KAFKA_TOPIC='staff', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE bosses AS SELECT e.id AS id, e.name AS name, b.name AS boss FROM staff e LEFT JOIN staff b ON e.boss = b.id;
INSERT INTO staff VALUES (1, 'ann', NULL);
ASSERT VALUES bosses (id, name) VALUES (1, 'ann');
INSERT INTO staff VALUES (2, 'bob', 1);
ASSERT VALUES bosses VALUES (2, 'bob', 'ann');
INSERT INTO staff VALUES (1, 'eve', NULL);
ASSERT VALUES bosses VALUES (2, 'bob', 'eve');
ASSERT VALUES bosses (id, name) VALUES (1, 'eve');
--@test: two foreign keys
CREATE TABLE orders (id INT PRIMARY KEY, item VARCHAR, buyer VARCHAR) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE items (item VARCHAR PRIMARY KEY, price INT) WITH (KAFKA_TOPIC='items', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE people (name VARCHAR PRIMARY KEY, town VARCHAR) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE complete AS SELECT o.id AS id, price, town FROM orders o JOIN items i ON o.item = i.item LEFT JOIN people p ON o.buyer = p.name;
INSERT INTO items VALUES ('fig', 3);
INSERT INTO orders VALUES (1, 'fig', 'ann');
ASSERT VALUES complete (id, price) VALUES (1, 3);
INSERT INTO people VALUES ('ann', 'Ulm');
ASSERT VALUES complete VALUES (1, 3, 'Ulm');
DELETE FROM items WHERE item = 'fig';
ASSERT NULL VALUES complete (id) KEY (1);
