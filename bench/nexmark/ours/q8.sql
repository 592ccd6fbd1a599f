-- People who opened an auction within the ten seconds in which they came.
CREATE TABLE q8 AS
    SELECT p.id AS id, p.name AS name
    FROM (
        SELECT id, LATEST_BY_OFFSET(name) AS name, window_start AS starttime
        FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
        GROUP BY id, window_start, window_end
    ) p
    JOIN (
        SELECT seller, window_start AS starttime
        FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
        GROUP BY seller, window_start, window_end
    ) a
    ON p.id = a.seller AND p.starttime = a.starttime;
