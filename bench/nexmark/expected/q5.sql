WITH starts AS (
    SELECT *, unnest(range(0, 10000, 2000)) AS back, epoch_ms(dateTime) // 2000 * 2000 AS slot FROM bid
), counts AS (
    SELECT auction, slot - back AS windowstart, count(*) AS num FROM starts GROUP BY ALL
)
SELECT * FROM counts
QUALIFY num = max(num) OVER (PARTITION BY windowstart)
