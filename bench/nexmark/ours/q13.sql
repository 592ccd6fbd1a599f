-- Bids with a value from a table that changes seldom.
CREATE STREAM q13 AS
    SELECT s.key AS id, b.auction AS auction, b.bidder AS bidder, b.price AS price,
        b.`dateTime` AS `dateTime`, s.`value` AS `value`
    FROM bid b JOIN side_input s ON b.auction % 10000 = s.key;
