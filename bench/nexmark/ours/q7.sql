-- The highest bids of every ten seconds, with all their bidders.
CREATE TABLE q7_prices AS
    SELECT price,
        COLLECT_LIST(STRUCT(auction := auction, bidder := bidder, extra := extra)) AS bids
    FROM bid WINDOW TUMBLING (SIZE 10 SECONDS)
    GROUP BY price;
CREATE TABLE q7_most AS
    SELECT WINDOWSTART AS starttime, MAX(highest) AS maxprice
    FROM (
        SELECT auction, MAX(price) AS highest
        FROM bid WINDOW TUMBLING (SIZE 10 SECONDS)
        GROUP BY auction
    )
    GROUP BY WINDOWSTART;
CREATE TABLE q7 AS
    SELECT p.price AS price, p.bids AS bids
    FROM q7_prices p JOIN q7_most m ON p.WINDOWSTART = m.starttime
    WHERE p.price = m.maxprice;
