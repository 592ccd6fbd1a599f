--@test: rows whose value a table has
CREATE STREAM clicks (usr VARCHAR KEY, page VARCHAR) WITH (KAFKA_TOPIC='clicks', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE vips (id VARCHAR PRIMARY KEY, town VARCHAR) WITH (KAFKA_TOPIC='vips', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM important AS SELECT * FROM clicks WHERE usr IN (SELECT id FROM vips WHERE town = 'Ulm');
CREATE STREAM others AS SELECT * FROM clicks c WHERE NOT EXISTS (SELECT 1 FROM vips v WHERE v.id = c.usr);
INSERT INTO vips VALUES ('ann', 'Ulm'), ('bob', 'Bonn');
INSERT INTO clicks VALUES ('ann', '/a'), ('bob', '/b'), ('cid', '/c');
ASSERT VALUES important VALUES ('ann', '/a');
ASSERT VALUES others VALUES ('cid', '/c');
INSERT INTO vips VALUES ('bob', 'Ulm');
DELETE FROM vips WHERE id = 'ann';
INSERT INTO clicks VALUES ('ann', '/d'), ('bob', '/e');
ASSERT VALUES important VALUES ('bob', '/e');
ASSERT VALUES others VALUES ('ann', '/d');
--@test: rows of a table come and go with those of another
CREATE TABLE people (id INT PRIMARY KEY, town VARCHAR) WITH (KAFKA_TOPIC='people', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE open (town VARCHAR PRIMARY KEY, since INT) WITH (KAFKA_TOPIC='open', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE reached AS SELECT id, town FROM people WHERE town IN (SELECT town FROM open);
INSERT INTO people VALUES (1, 'Ulm');
ASSERT NULL VALUES reached (id) KEY (1);
INSERT INTO open VALUES ('Ulm', 5);
ASSERT VALUES reached VALUES (1, 'Ulm');
DELETE FROM open WHERE town = 'Ulm';
ASSERT NULL VALUES reached (id) KEY (1);
