-- Who sells in category 10 and lives in one of three states: a foreign-key join.
CREATE TABLE q3 AS
    SELECT a.id AS id, p.name AS name, p.city AS city, p.state AS state
    FROM auction a JOIN person p ON a.seller = p.id
    WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
