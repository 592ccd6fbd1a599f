WITH marked AS (
    SELECT *, coalesce(epoch_ms(dateTime) - lag(epoch_ms(dateTime)) OVER own > 10000, true) AS is_first
    FROM bid WINDOW own AS (PARTITION BY bidder ORDER BY dateTime)
), numbered AS (
    SELECT *, sum(is_first::INT) OVER (PARTITION BY bidder ORDER BY dateTime) AS session FROM marked
)
SELECT bidder, min(epoch_ms(dateTime)) AS windowstart, max(epoch_ms(dateTime)) AS windowend,
    count(*) AS bid_count
FROM numbered GROUP BY bidder, session
