-- The shop's database. PostgreSQL runs with wal_level=logical.

CREATE TABLE IF NOT EXISTS orders (
    id       TEXT PRIMARY KEY,
    customer TEXT NOT NULL,
    amount   DOUBLE PRECISION NOT NULL
);

-- What other programs shall hear of. A row is written in the transaction that it tells of. Old rows
-- may be deleted at any time: Debezium has read them from the change log of the database.
CREATE TABLE IF NOT EXISTS outbox (
    id            UUID PRIMARY KEY,
    aggregatetype TEXT NOT NULL,
    aggregateid   TEXT NOT NULL,
    type          TEXT NOT NULL,
    payload       JSONB NOT NULL
);

-- What the pipeline writes back.
CREATE TABLE IF NOT EXISTS customer_totals (
    customer TEXT PRIMARY KEY,
    orders   BIGINT NOT NULL,
    spent    DOUBLE PRECISION NOT NULL
);
