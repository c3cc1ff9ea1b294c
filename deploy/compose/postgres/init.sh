# Makes the databases and their roles. Runs once, when PostgreSQL makes its data folder.
# shellcheck shell=bash
#
# Each service owns its database, and can't even connect to the other one. The page may read both, and write nothing.

psql -v ON_ERROR_STOP=1 --no-psqlrc -q -U "$POSTGRES_USER" -d postgres \
    -v orders_password="$(cat /run/secrets/orders-db-password)" \
    -v inventory_password="$(cat /run/secrets/inventory-db-password)" \
    -v playground_password="$(cat /run/secrets/playground-db-password)" <<'SQL'
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
SQL
