-- Bids with their auction and with its seller: three sources.
CREATE STREAM q23 AS
    SELECT a.seller AS seller, b.auction AS auction, b.bidder AS bidder, b.price AS price,
        a.itemName AS itemName, p.name AS name, p.city AS city
    FROM bid b JOIN auction a ON b.auction = a.id JOIN person p ON a.seller = p.id;
