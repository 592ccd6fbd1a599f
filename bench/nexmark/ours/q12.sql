-- How often each bidder bid in ten seconds of the clock.
CREATE TABLE q12 AS
    SELECT bidder, COUNT(*) AS bid_count
    FROM (SELECT *, PROCTIME() AS p_time FROM bid) TUMBLE_INPUT
    GROUP BY bidder, TUMBLE(p_time, INTERVAL '10' SECOND);
