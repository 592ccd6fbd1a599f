--@test: aliases in GROUP BY and HAVING
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE views AS SELECT LCASE(page) AS p, COUNT(*) AS n FROM clicks GROUP BY p HAVING n < 3;
INSERT INTO clicks VALUES ('ann', '/A'), ('bob', '/a'), ('cid', NULL), ('dan', '/a');
ASSERT VALUES views VALUES ('/a', 1);
ASSERT VALUES views VALUES ('/a', 2);
ASSERT NULL VALUES views (p) KEY ('/a');
