-- The auctions with the most bids of ten seconds, every two seconds.
CREATE TABLE q5_counts AS
    SELECT auction, COUNT(*) AS num
    FROM bid WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS)
    GROUP BY auction;
CREATE TABLE q5_most AS
    SELECT WINDOWSTART AS starttime, MAX(num) AS maxn FROM q5_counts GROUP BY WINDOWSTART;
CREATE TABLE q5 AS
    SELECT c.auction AS auction, c.num AS num
    FROM q5_counts c JOIN q5_most m ON c.WINDOWSTART = m.starttime
    WHERE c.num >= m.maxn;
