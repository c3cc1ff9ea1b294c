# Runs once, on an empty data folder: two databases with an owner each, and a role that may only read.
# It is sourced by the image's entry script, after the server has started for itself.
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres \
    --set orders_password="$(cat /etc/postgres-secrets/orders)" \
    --set inventory_password="$(cat /etc/postgres-secrets/inventory)" \
    --set playground_password="$(cat /etc/postgres-secrets/playground)" <<'SQL'
CREATE ROLE orders LOGIN PASSWORD :'orders_password';
CREATE ROLE inventory LOGIN PASSWORD :'inventory_password';
CREATE ROLE playground LOGIN PASSWORD :'playground_password';
GRANT pg_read_all_data TO playground;
CREATE DATABASE orders OWNER orders;
CREATE DATABASE inventory OWNER inventory;
REVOKE CONNECT, TEMPORARY ON DATABASE orders, inventory FROM PUBLIC;
GRANT CONNECT ON DATABASE orders, inventory TO playground;
SQL
