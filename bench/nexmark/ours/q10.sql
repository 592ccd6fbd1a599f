-- Bids with their day and minute, as a sink with partitions would need them.
CREATE STREAM q10 AS
    SELECT auction, bidder, price, `dateTime`, extra,
        FORMAT_TIMESTAMP(`dateTime`, 'yyyy-MM-dd') AS dt,
        FORMAT_TIMESTAMP(`dateTime`, 'HH:mm') AS hm
    FROM bid;
