-- The average of the highest bids in each category.
CREATE TABLE q4 AS
    SELECT category, AVG(final) AS average
    FROM (
        SELECT a.id, a.category AS category, MAX(b.price) AS final
        FROM bid b JOIN auction a ON b.auction = a.id
        WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires
        GROUP BY a.id, a.category
    )
    GROUP BY category;
