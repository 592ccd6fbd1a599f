-- What a shop's dashboard shows, from orders and customers.
--
-- Try it with a private broker and sample data:
--   penstock run examples/order_dashboard/app.sql --demo
-- Test it without Kafka and Spark:
--   penstock sql test examples/order_dashboard/app.sql \
--       --input examples/order_dashboard/data.json \
--       --output examples/order_dashboard/expected.json

CREATE STREAM orders (order_id VARCHAR KEY, customer VARCHAR, amount DOUBLE, items ARRAY<VARCHAR>)
    WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON', PARTITIONS=2);

CREATE TABLE customers (id VARCHAR PRIMARY KEY, name VARCHAR, country VARCHAR)
    WITH (KAFKA_TOPIC='customers', VALUE_FORMAT='JSON', PARTITIONS=2);

-- Each order with its customer. The join needs the customer as key: PARTITION BY is not needed,
-- the planner repartitions by itself.
CREATE STREAM enriched WITH (KAFKA_TOPIC='enriched') AS
    SELECT o.customer AS customer, o.amount AS amount, c.name AS name, c.country AS country
    FROM orders o
    JOIN customers c ON o.customer = c.id;

-- Sales per country and minute, closed 10 seconds after the minute is over.
CREATE TABLE sales_per_minute WITH (KAFKA_TOPIC='sales-per-minute') AS
    SELECT country, COUNT(*) AS orders, SUM(amount) AS total
    FROM enriched WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 10 SECONDS)
    GROUP BY country;

-- How many different customers bought an item, exactly.
CREATE TABLE buyers WITH (KAFKA_TOPIC='buyers') AS
    SELECT item, COUNT(DISTINCT customer) AS customers
    FROM (SELECT order_id, customer, EXPLODE(items) AS item FROM orders) sold
    GROUP BY item;
