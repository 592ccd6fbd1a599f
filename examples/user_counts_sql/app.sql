-- Views per user: asked once (pull), and followed as they change (push).
--
--   penstock run examples/user_counts_sql/app.sql --demo
--   penstock sql test examples/user_counts_sql/app.sql \
--       --input examples/user_counts_sql/data.json --output examples/user_counts_sql/expected.json

CREATE STREAM page_views (user_id VARCHAR KEY, page VARCHAR)
    WITH (KAFKA_TOPIC='page-views', VALUE_FORMAT='JSON', PARTITIONS=2);

-- The table is kept in a store, so it can be asked.
CREATE TABLE user_counts WITH (KAFKA_TOPIC='user-counts') AS
    SELECT user_id, COUNT(*) AS views
    FROM page_views
    GROUP BY user_id;

-- A pull query is answered once, from the store.
SELECT user_id, views FROM user_counts WHERE user_id = 'alice';

-- A push query never ends: it has a row for every change of alice's count.
SELECT user_id, views FROM user_counts WHERE user_id = 'alice' EMIT CHANGES;
