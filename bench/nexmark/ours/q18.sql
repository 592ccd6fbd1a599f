-- The last bid of each bidder for each auction.
CREATE TABLE q18 WITH (KEY_FORMAT='JSON') AS
    SELECT auction, bidder, price, channel, url, `dateTime`, extra
    FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS n
        FROM bid
    )
    WHERE n <= 1;
