-- The winning bid of each auction.
CREATE TABLE q9 AS
    SELECT id, itemName, seller, category, auction, bidder, price, bid_dateTime, bid_extra
    FROM (
        SELECT a.*, b.auction AS auction, b.bidder AS bidder, b.price AS price,
            b.`dateTime` AS bid_dateTime, b.extra AS bid_extra,
            ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.`dateTime` ASC) AS n
        FROM bid b JOIN auction a ON b.auction = a.id
        WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires
    )
    WHERE n = 1;
