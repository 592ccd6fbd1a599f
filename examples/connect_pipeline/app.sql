-- Products of a database, on their way into a bucket: those that run low, with what to order.
--
-- The query alone, on sample data:
--   penstock run examples/connect_pipeline/app.sql --demo
-- With a database and a folder that stands for the bucket: see README.md.

CREATE STREAM products (id INT, name VARCHAR, stock INT, wanted INT)
    WITH (KAFKA_TOPIC='warehouse.public.products', VALUE_FORMAT='JSON', PARTITIONS=1);

CREATE STREAM reorders WITH (KAFKA_TOPIC='reorders', VALUE_FORMAT='JSON') AS
    SELECT id, name, wanted - stock AS quantity
    FROM products
    WHERE stock < wanted;
