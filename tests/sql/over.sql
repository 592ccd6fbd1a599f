--@test: differences between readings
CREATE STREAM readings (device VARCHAR KEY, level DOUBLE) WITH (KAFKA_TOPIC='readings', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM jumps AS SELECT device, level - last AS jump FROM (SELECT device, level, LAG(level) OVER (PARTITION BY device ORDER BY ROWTIME) AS last FROM readings) r WHERE level - last > 1;
INSERT INTO readings (ROWTIME, device, level) VALUES (10, 'a', 1.0), (11, 'b', 9.0), (12, 'a', 3.5), (11, 'a', 9.0), (13, 'a', 4.0), (14, 'b', 11.0);
ASSERT VALUES jumps (ROWTIME, device, jump) VALUES (12, 'a', 2.5);
ASSERT VALUES jumps (ROWTIME, device, jump) VALUES (14, 'b', 2.0);
--@test: LEAD is refused with the way round
--@expected.error: unknown-over
--@expected.message: LAG in the later row
CREATE STREAM readings (device VARCHAR KEY, level DOUBLE) WITH (KAFKA_TOPIC='readings', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM x AS SELECT device, LEAD(level) OVER (PARTITION BY device) AS n FROM readings;
