WITH wins AS (
    SELECT a.id, a.seller, b.price, b.dateTime
    FROM bid b JOIN auction a ON b.auction = a.id
    WHERE b.dateTime BETWEEN a.dateTime AND a.expires
    QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) = 1
)
SELECT seller, avg(price) AS average
FROM (
    SELECT * FROM wins QUALIFY row_number() OVER (PARTITION BY seller ORDER BY dateTime DESC) <= 10
)
GROUP BY seller
