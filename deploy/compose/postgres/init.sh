# Makes the databases and their roles. Runs once, when PostgreSQL makes its data folder.
# shellcheck shell=bash
#
# Each service owns its database, and can't even connect to the other one. The page may read both, and write nothing.

secret() {
    cat "/run/secrets/$1" || {
        echo "init: the secret $1 can't be read by user $(id -u): make its file readable (chmod a+r)" >&2
        exit 1
    }
}

psql -v ON_ERROR_STOP=1 --no-psqlrc -q -U "$POSTGRES_USER" -d postgres \
    -v orders_password="$(secret orders-db-password)" \
    -v inventory_password="$(secret inventory-db-password)" \
    -v playground_password="$(secret playground-db-password)" <<'SQL'
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
