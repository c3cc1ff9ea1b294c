# Makes the databases and their roles. Runs once, when PostgreSQL makes its data folder.
# shellcheck shell=bash
#
# Each service owns its database, and can't even connect to the other one. The page may read both, and write nothing.
# What a standby needs is there from the start, so that one can be added to a shop that has orders already.

psql -v ON_ERROR_STOP=1 --no-psqlrc -q -U "$POSTGRES_USER" -d postgres \
    -v orders_password="$(cat /run/secrets/orders-db-password)" \
    -v inventory_password="$(cat /run/secrets/inventory-db-password)" \
    -v playground_password="$(cat /run/secrets/playground-db-password)" \
    -v replicator_password="$(cat /run/secrets/replicator-db-password)" <<'SQL'
CREATE ROLE orders LOGIN PASSWORD :'orders_password';
CREATE ROLE inventory LOGIN PASSWORD :'inventory_password';
CREATE ROLE playground LOGIN PASSWORD :'playground_password' CONNECTION LIMIT 20;
ALTER ROLE playground SET default_transaction_read_only = on;
GRANT pg_read_all_data TO playground;

CREATE DATABASE orders OWNER orders;
CREATE DATABASE inventory OWNER inventory;
-- Without these two lines every role may connect to every database.
REVOKE ALL ON DATABASE orders, inventory, postgres, template1 FROM PUBLIC;
GRANT CONNECT ON DATABASE orders, inventory TO playground;

CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'replicator_password';
-- With a standby, commits wait for it. The command line of the compose file overrides this where there is none.
ALTER SYSTEM SET synchronous_standby_names = 'standby';
SQL
echo 'host replication replicator all scram-sha-256' >>"$PGDATA/pg_hba.conf"
