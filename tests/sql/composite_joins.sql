--@test: stream and table with a key of two columns
CREATE STREAM orders (id INT KEY, shop VARCHAR, item VARCHAR, n INT) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE prices (shop VARCHAR PRIMARY KEY, item VARCHAR PRIMARY KEY, price INT) WITH (KAFKA_TOPIC='prices', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM priced WITH (KEY_FORMAT='JSON') AS SELECT o.shop AS shop, o.item AS item, id, n * price AS total FROM orders o LEFT JOIN prices p ON o.item = p.item AND o.shop = p.shop AND n > 1;
INSERT INTO prices VALUES ('a', 'fig', 3), ('b', 'fig', 4);
INSERT INTO orders VALUES (1, 'a', 'fig', 2), (2, 'b', 'fig', 2), (3, 'b', 'fig', 1), (4, 'b', 'nut', 2), (5, 'b', NULL, 2);
ASSERT VALUES priced (shop, item, id, total) VALUES ('a', 'fig', 1, 6);
ASSERT VALUES priced (shop, item, id, total) VALUES ('b', 'fig', 2, 8);
ASSERT VALUES priced (shop, item, id) VALUES ('b', 'fig', 3);
ASSERT VALUES priced (shop, item, id) VALUES ('b', 'nut', 4);
ASSERT VALUES priced (shop, id) VALUES ('b', 5);
--@test: streams on two columns, kept without a partner
CREATE STREAM a (id INT KEY, x INT, v INT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM b (id INT KEY, x INT, v INT) WITH (KAFKA_TOPIC='b', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM c WITH (KEY_FORMAT='JSON') AS SELECT a.id, a.x, a.v AS av, b.v AS bv FROM a LEFT JOIN b WITHIN 10 SECONDS ON a.x = b.x AND a.id = b.id;
INSERT INTO b VALUES (1, 2, 20), (1, NULL, 30);
INSERT INTO a VALUES (1, 2, 1), (1, 3, 2), (1, NULL, 3);
ASSERT VALUES c (a_id, a_x, av, bv) VALUES (1, 2, 1, 20);
ASSERT VALUES c (a_id, a_x, av) VALUES (1, 3, 2);
ASSERT VALUES c (a_id, av) VALUES (1, 3);
--@test: tables with keys of two columns
CREATE TABLE a (x INT PRIMARY KEY, y INT PRIMARY KEY, v INT) WITH (KAFKA_TOPIC='a', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE b (p INT PRIMARY KEY, q INT PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='b', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE c AS SELECT x, y, v, w FROM a JOIN b ON x = p AND y = q;
CREATE TABLE d AS SELECT x, y, v, w FROM a JOIN b ON x = q AND y = p;
INSERT INTO a VALUES (1, 2, 10);
INSERT INTO b VALUES (1, 2, 100), (2, 1, 200);
ASSERT VALUES c VALUES (1, 2, 10, 100);
ASSERT VALUES d VALUES (1, 2, 10, 200);
DELETE FROM b WHERE p = 1 AND q = 2;
ASSERT NULL VALUES c (x, y) KEY (1, 2);
DELETE FROM a WHERE x = 1 AND y = 2;
ASSERT NULL VALUES d (x, y) KEY (1, 2);
--@test: half of a key is refused
--@expected.error: join-on-non-key
CREATE STREAM a (id INT KEY, v INT) WITH (KAFKA_TOPIC='a', FORMAT='JSON', PARTITIONS=1);
CREATE TABLE b (p INT PRIMARY KEY, q INT PRIMARY KEY, w INT) WITH (KAFKA_TOPIC='b', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM c AS SELECT id, v, w FROM a JOIN b ON id = p;
