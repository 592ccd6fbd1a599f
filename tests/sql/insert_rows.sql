--@test: several rows in one statement
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
INSERT INTO clicks (ROWTIME, usr, page) VALUES (5, 'ann', '/a'), (6, 'bob', '/b'), (7, NULL, '/a');
ASSERT VALUES clicks (ROWTIME, usr, page) VALUES (5, 'ann', '/a');
ASSERT VALUES clicks (ROWTIME, usr, page) VALUES (6, 'bob', '/b');
ASSERT VALUES clicks (ROWTIME, page) VALUES (7, '/a');
ASSERT VALUES views VALUES ('/a', 1);
ASSERT VALUES views VALUES ('/b', 1);
ASSERT VALUES views VALUES ('/a', 2);
--@test: a bad row refuses all of them
--@expected.error: wrong-number-of-values
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
INSERT INTO clicks VALUES ('ann', '/a'), ('bob');
