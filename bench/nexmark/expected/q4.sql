SELECT category, avg(final) AS average
FROM (
    SELECT a.category, max(b.price) AS final
    FROM bid b JOIN auction a ON b.auction = a.id
    WHERE b.dateTime BETWEEN a.dateTime AND a.expires
    GROUP BY a.id, a.category
)
GROUP BY category
