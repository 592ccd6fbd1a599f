#!/bin/sh
# Runs the pipeline until Ctrl-C. PGHOST, PGPORT, PGDATABASE, PGUSER and PGPASSWORD say where the
# database is, as for psql.
set -eu
cd "$(dirname "$0")"

# Once: the connectors, from Maven Central.
[ -d .penstock/connect/plugins/debezium-connector-postgres-3.5.0.Final ] ||
    penstock connect install io.debezium:debezium-connector-postgres:3.5.0.Final
[ -d .penstock/connect/plugins/debezium-connector-jdbc-3.5.0.Final ] ||
    penstock connect install io.debezium:debezium-connector-jdbc:3.5.0.Final

psql -q -f database.sql

# Without a broker in the project, a private one is started, and a Connect worker beside it.
exec penstock sql run pipeline.sql \
    --define host="${PGHOST:-localhost}" --define port="${PGPORT:-5432}" \
    --define database="${PGDATABASE:-shop}" --define user="${PGUSER:-postgres}" \
    --define password="${PGPASSWORD:-}"
