# Lets a standby follow, and makes commits wait until it has them. Runs once, after init.sh has made the databases.
# shellcheck shell=bash

psql -v ON_ERROR_STOP=1 --no-psqlrc -q -U "$POSTGRES_USER" -d postgres \
    -v password="$(cat /run/secrets/replicator-db-password)" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
-- Not one acknowledged order is lost with the primary. Takes effect with the server that starts after this script.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
echo 'host replication replicator all scram-sha-256' >>"$PGDATA/pg_hba.conf"
