--@test: windows are part of a row
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE views AS
    SELECT page, COUNT(*) AS n
    FROM clicks WINDOW TUMBLING (SIZE 1 SECOND)
    GROUP BY page
    HAVING COUNT(*) < 2;
INSERT INTO clicks (ROWTIME, usr, page) VALUES (1500, 'ann', '/home');
ASSERT VALUES views (page, n, windowstart, windowend, rowtime) VALUES ('/home', 1, 1000, 2000, 1500);
INSERT INTO clicks (ROWTIME, usr, page) VALUES (1500, 'ann', '/home');
ASSERT NULL VALUES views (page) KEY ('/home');

--@test: queries read what others write
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='DELIMITED', PARTITIONS=1);
CREATE STREAM upper WITH (VALUE_FORMAT='JSON') AS SELECT usr, UCASE(page) AS page FROM clicks;
CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM upper GROUP BY page;
ASSERT STREAM upper (usr VARCHAR KEY, page VARCHAR) WITH (KAFKA_TOPIC='UPPER', VALUE_FORMAT='JSON');
INSERT INTO clicks VALUES ('ann', '/a');
INSERT INTO clicks VALUES ('bob', '/A');
ASSERT VALUES views VALUES ('/A', 1);
ASSERT VALUES views VALUES ('/A', 2);
TERMINATE CTAS_VIEWS_0;
INSERT INTO clicks VALUES ('cid', '/a');
ASSERT VALUES upper VALUES ('ann', '/A');
ASSERT VALUES upper VALUES ('bob', '/A');
ASSERT VALUES upper VALUES ('cid', '/A');

--@test: an unknown stream is refused
--@expected.error: AnalysisError
--@expected.message: did you mean 'CLICKS'
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM copied AS SELECT * FROM clikcs;

--@test: a replaced query goes on with its state
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
INSERT INTO clicks VALUES ('ann', '/a');
ASSERT VALUES views VALUES ('/a', 1);
CREATE OR REPLACE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks WHERE usr <> 'bob' GROUP BY page;
INSERT INTO clicks VALUES ('bob', '/a');
INSERT INTO clicks VALUES ('cid', '/a');
ASSERT VALUES views VALUES ('/a', 2);

--@test: a query that was dropped and made anew counts from nothing
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
INSERT INTO clicks VALUES ('ann', '/a');
ASSERT VALUES views VALUES ('/a', 1);
DROP TABLE views;
CREATE TABLE views AS SELECT page, COUNT(*) AS n FROM clicks GROUP BY page;
INSERT INTO clicks VALUES ('cid', '/a');
ASSERT VALUES views VALUES ('/a', 1);
