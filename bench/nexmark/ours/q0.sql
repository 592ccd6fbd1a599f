-- Pass on: what reading and writing costs.
CREATE STREAM q0 AS
    SELECT auction, bidder, price, `dateTime`, extra FROM bid;
