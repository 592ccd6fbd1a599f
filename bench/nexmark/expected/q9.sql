SELECT a.id, a.itemName, a.seller, a.category, b.auction, b.bidder, b.price,
    b.dateTime AS bid_dateTime, b.extra AS bid_extra
FROM bid b JOIN auction a ON b.auction = a.id
WHERE b.dateTime BETWEEN a.dateTime AND a.expires
QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) = 1
