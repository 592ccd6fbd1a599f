--@test: the changes of a table
CREATE TABLE people (id INT PRIMARY KEY, town VARCHAR, age INT) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM moves AS SELECT id, before->town AS origin, town FROM CHANGES(people) WHERE change = 'UPDATE' AND town IS DISTINCT FROM before->town;
CREATE STREAM gone AS SELECT id, before->age AS age FROM CHANGES(people) WHERE change = 'DELETE';
INSERT INTO people VALUES (1, 'Ulm', 30), (2, 'Bonn', 40), (1, 'Ulm', 31), (1, 'Kiel', 31), (2, NULL, 41);
DELETE FROM people WHERE id = 2;
DELETE FROM people WHERE id = 2;
DELETE FROM people WHERE id = 7;
INSERT INTO people VALUES (2, 'Bonn', 1);
ASSERT VALUES moves VALUES (1, 'Ulm', 'Kiel');
ASSERT VALUES moves (id, origin) VALUES (2, 'Bonn');
ASSERT VALUES gone VALUES (2, 41);
--@test: a stream has no changes
--@expected.error: changes-of-stream
CREATE STREAM s (id INT KEY, v INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM x AS SELECT * FROM CHANGES(s);
