SELECT a.seller, b.auction, b.bidder, b.price, a.itemName, p.name, p.city
FROM bid b
    JOIN auction a ON b.auction = a.id AND a.dateTime <= b.dateTime
    JOIN person p ON a.seller = p.id AND p.dateTime <= b.dateTime
