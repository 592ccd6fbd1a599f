-- All bids are processed within one window of the clock.
SELECT bidder, count(*) AS bid_count FROM bid GROUP BY bidder
