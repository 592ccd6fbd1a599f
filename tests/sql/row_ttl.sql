--@test: rows of a table expire
CREATE TABLE sessions (id VARCHAR PRIMARY KEY, usr VARCHAR) WITH (KAFKA_TOPIC='sessions', VALUE_FORMAT='JSON', PARTITIONS=1, ROW_TTL='1 MINUTE');
CREATE TABLE active AS SELECT usr, COUNT(*) AS n FROM sessions GROUP BY usr HAVING n > 0;
INSERT INTO sessions (ROWTIME, id, usr) VALUES (0, 'a', 'ann'), (30000, 'b', 'ann'), (70000, 'c', 'bob'), (95000, 'c', 'bob');
ASSERT VALUES active VALUES ('ann', 1);
ASSERT VALUES active VALUES ('ann', 2);
ASSERT VALUES active VALUES ('ann', 1);
ASSERT VALUES active VALUES ('bob', 1);
ASSERT NULL VALUES active (usr) KEY ('ann');
