--@test: a stream without repeated rows
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR, ms INT) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM seen WITH (ROW_TTL='1 SECOND') AS SELECT DISTINCT usr, page FROM clicks WHERE ms > 0;
INSERT INTO clicks (ROWTIME, usr, page, ms) VALUES (1, 'ann', '/a', 1), (2, 'ann', '/a', 2), (3, 'bob', '/a', 0), (4, 'bob', '/a', 4), (1001, 'ann', '/a', 5);
ASSERT VALUES seen (ROWTIME, usr, page) VALUES (1, 'ann', '/a');
ASSERT VALUES seen (ROWTIME, usr, page) VALUES (4, 'bob', '/a');
ASSERT VALUES seen (ROWTIME, usr, page) VALUES (1001, 'ann', '/a');
--@test: a table of what another table has
CREATE TABLE people (id INT PRIMARY KEY, town VARCHAR) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE towns AS SELECT DISTINCT town, AS_VALUE(town) AS name FROM people;
INSERT INTO people VALUES (1, 'Ulm'), (2, 'Ulm'), (3, NULL);
ASSERT VALUES towns VALUES ('Ulm', 'Ulm');
ASSERT VALUES towns VALUES ('Ulm', 'Ulm');
DELETE FROM people WHERE id = 1;
ASSERT VALUES towns VALUES ('Ulm', 'Ulm');
DELETE FROM people WHERE id = 2;
ASSERT NULL VALUES towns (town) KEY ('Ulm');
--@test: a table needs a value
--@expected.error: no-value-columns
--@expected.message: AS_VALUE
CREATE TABLE people (id INT PRIMARY KEY, town VARCHAR) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE towns AS SELECT DISTINCT town FROM people;
