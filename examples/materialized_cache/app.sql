-- A call centre: what a clerk wants to know about a caller, kept ready.
--
--   penstock run examples/materialized_cache/app.sql --demo
--   penstock sql test examples/materialized_cache/app.sql \
--       --input examples/materialized_cache/data.json \
--       --output examples/materialized_cache/expected.json

CREATE STREAM calls (name VARCHAR, reason VARCHAR, duration_seconds INT)
    WITH (KAFKA_TOPIC='calls', VALUE_FORMAT='JSON', PARTITIONS=2);

-- Why somebody called: how many different reasons, and the last one.
CREATE TABLE support_view WITH (KAFKA_TOPIC='support-view') AS
    SELECT name,
        COUNT_DISTINCT(reason) AS distinct_reasons,
        LATEST_BY_OFFSET(reason) AS last_reason
    FROM calls
    GROUP BY name;

-- How much somebody called: since the first call.
CREATE TABLE lifetime_view WITH (KAFKA_TOPIC='lifetime-view') AS
    SELECT name,
        COUNT(reason) AS total_calls,
        SUM(duration_seconds) / 60 AS minutes_engaged
    FROM calls
    GROUP BY name;

-- The phone rings: one row each, at once.
SELECT name, distinct_reasons, last_reason FROM support_view WHERE name = 'derek';
SELECT name, total_calls, minutes_engaged FROM lifetime_view WHERE name = 'michael';
