-- Cards that are used three times within half a minute.
--
--   penstock run examples/event_driven_service/app.sql --demo
--   penstock sql test examples/event_driven_service/app.sql \
--       --input examples/event_driven_service/data.json \
--       --output examples/event_driven_service/expected.json

CREATE STREAM transactions (
        tx_id VARCHAR KEY, email_address VARCHAR, card_number VARCHAR, amount DECIMAL(12, 2)
    ) WITH (KAFKA_TOPIC='transactions', VALUE_FORMAT='JSON', PARTITIONS=2);

-- HAVING keeps a window out of the table until it has its third transaction. AS_VALUE copies the
-- key into the value, for services that read only values.
CREATE TABLE possible_anomalies WITH (KAFKA_TOPIC='possible-anomalies') AS
    SELECT card_number AS card_number_key,
        AS_VALUE(card_number) AS card_number,
        LATEST_BY_OFFSET(email_address) AS email_address,
        COUNT(*) AS n_attempts,
        SUM(amount) AS total_amount,
        COLLECT_LIST(tx_id) AS tx_ids,
        WINDOWSTART AS start_boundary,
        WINDOWEND AS end_boundary
    FROM transactions WINDOW TUMBLING (SIZE 30 SECONDS, GRACE PERIOD 10 SECONDS)
    GROUP BY card_number
    HAVING COUNT(*) >= 3;
