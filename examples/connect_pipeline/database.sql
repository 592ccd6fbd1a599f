-- The warehouse's table. PostgreSQL runs with wal_level=logical.

CREATE TABLE IF NOT EXISTS products (
    id     INT PRIMARY KEY,
    name   TEXT NOT NULL,
    stock  INT NOT NULL,
    wanted INT NOT NULL
);
