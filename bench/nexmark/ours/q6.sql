-- The average of the last ten winning prices of each seller.
CREATE TABLE q6_wins AS
    SELECT id, seller, price, sold
    FROM (
        SELECT a.id AS id, a.seller AS seller, b.price AS price, b.`dateTime` AS sold,
            ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC) AS place
        FROM bid b JOIN auction a ON b.auction = a.id
        WHERE b.`dateTime` BETWEEN a.`dateTime` AND a.expires
    )
    WHERE place = 1;
CREATE TABLE q6 AS
    SELECT seller, AVG(price) AS average
    FROM (
        SELECT seller, price, ROW_NUMBER() OVER (PARTITION BY seller ORDER BY sold DESC) AS age
        FROM q6_wins
    )
    WHERE age <= 10
    GROUP BY seller;
