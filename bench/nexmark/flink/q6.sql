SELECT
    Q.seller,
    AVG(Q.price) OVER (
        PARTITION BY Q.seller
        ORDER BY Q.bid_dateTime
        ROWS BETWEEN 10 PRECEDING AND CURRENT ROW
    )
FROM (
    SELECT
        A.seller,
        B.price,
        B.`dateTime` AS bid_dateTime,
        ROW_NUMBER() OVER (PARTITION BY A.id, A.seller ORDER BY B.price DESC) AS rownum
    FROM auction AS A, bid AS B
    WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
) AS Q
WHERE Q.rownum = 1;
