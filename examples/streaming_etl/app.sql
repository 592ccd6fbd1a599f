-- Orders of one database, customers and shipments of others: one stream of orders that have been
-- shipped.
--
--   penstock run examples/streaming_etl/app.sql --demo

CREATE STREAM customers (id VARCHAR, name VARCHAR, age INT)
    WITH (KAFKA_TOPIC='customers', VALUE_FORMAT='JSON', PARTITIONS=2);

CREATE STREAM orders (
        order_id VARCHAR, customer_id VARCHAR, price DOUBLE, currency VARCHAR, ordered_at BIGINT
    ) WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2, TIMESTAMP='ordered_at');

CREATE STREAM shipments (shipment_id VARCHAR, order_id VARCHAR, origin VARCHAR, shipped_at BIGINT)
    WITH (KAFKA_TOPIC='shipments', VALUE_FORMAT='JSON', PARTITIONS=2, TIMESTAMP='shipped_at');

-- Every change of a customer is a record. The table has the newest of each.
CREATE TABLE customers_by_key WITH (KAFKA_TOPIC='customers-by-key') AS
    SELECT id, LATEST_BY_OFFSET(name) AS name, LATEST_BY_OFFSET(age) AS age
    FROM customers
    GROUP BY id;

-- The customers come through another query. So that the first orders find them, a query waits up to
-- five seconds for each of its topics that has no records yet.
SET 'max.task.idle.ms' = '5000';

-- An order with its customer; one whose customer is not known yet stays, without a name.
CREATE STREAM enriched_orders WITH (KAFKA_TOPIC='enriched-orders') AS
    SELECT o.customer_id AS customer_id, o.order_id AS order_id, o.price AS price,
        o.currency AS currency, c.name AS customer_name, c.age AS customer_age
    FROM orders o
    LEFT JOIN customers_by_key c ON o.customer_id = c.id;

-- An order whose parcel left within a week.
CREATE STREAM shipped_orders WITH (KAFKA_TOPIC='shipped-orders') AS
    SELECT o.order_id AS order_id, s.shipment_id AS shipment_id, o.customer_id AS customer_id,
        o.customer_name AS customer_name, s.origin AS origin, o.price AS price,
        o.currency AS currency
    FROM enriched_orders o
    JOIN shipments s WITHIN 7 DAYS GRACE PERIOD 1 DAY ON o.order_id = s.order_id;
