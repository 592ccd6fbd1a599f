--@test: exact distinct and extremes over a table
CREATE TABLE people (id INT PRIMARY KEY, town VARCHAR, age INT) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
CREATE TABLE towns AS SELECT town, COUNT(DISTINCT age) AS ages, MIN(age) AS youngest, MAX(age) AS oldest, SUM(DISTINCT age) s FROM people GROUP BY town;
INSERT INTO people VALUES (1, 'Ulm', 30);
ASSERT VALUES towns VALUES ('Ulm', 1, 30, 30, 30);
INSERT INTO people VALUES (2, 'Ulm', 30);
ASSERT VALUES towns VALUES ('Ulm', 1, 30, 30, 30);
INSERT INTO people VALUES (2, 'Ulm', 50);
ASSERT VALUES towns VALUES ('Ulm', 2, 30, 50, 80);
DELETE FROM people WHERE id = 1;
ASSERT VALUES towns VALUES ('Ulm', 1, 50, 50, 50);
