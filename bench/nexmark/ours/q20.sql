-- Bids with their auction, if that is of category 10.
CREATE STREAM q20 AS
    SELECT b.auction AS auction, b.bidder AS bidder, b.price AS price, b.channel AS channel,
        b.url AS url, b.`dateTime` AS bid_time, b.extra AS bid_extra, a.itemName AS itemName,
        a.description AS description, a.initialBid AS initialBid, a.reserve AS reserve,
        a.`dateTime` AS auction_time, a.expires AS expires, a.seller AS seller,
        a.category AS category, a.extra AS auction_extra
    FROM bid b JOIN auction a ON b.auction = a.id
    WHERE a.category = 10;
