-- The ten highest bids of each auction.
CREATE TABLE q19 WITH (KEY_FORMAT='JSON') AS
    SELECT *
    FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number
        FROM bid
    )
    WHERE rank_number <= 10;
