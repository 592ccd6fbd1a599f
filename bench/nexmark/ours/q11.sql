-- How often each bidder bid without a pause of ten seconds.
CREATE TABLE q11 AS
    SELECT bidder, COUNT(*) AS bid_count
    FROM bid WINDOW SESSION (10 SECONDS)
    GROUP BY bidder;
