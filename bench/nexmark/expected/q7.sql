WITH bids AS (SELECT *, epoch_ms(dateTime) // 10000 * 10000 AS windowstart FROM bid)
SELECT price, windowstart,
    list({'AUCTION': auction, 'BIDDER': bidder, 'EXTRA': extra} ORDER BY dateTime) AS bids
FROM (SELECT * FROM bids QUALIFY price = max(price) OVER (PARTITION BY windowstart))
GROUP BY price, windowstart
