SELECT
    auction,
    bidder,
    0.908 * price AS price, -- dollars to euros
    `dateTime`,
    extra
FROM bid;
