-- What the service needs in the database, and two tables to sync. As the database's owner:
--
--   psql postgresql://postgres@localhost:5432/app -f Examples/postgres/setup.sql
--
-- The server needs wal_level = logical: ALTER SYSTEM SET wal_level = logical; and a restart.

CREATE TABLE lists (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    owner_id text NOT NULL,
    name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE todos (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    list_id uuid NOT NULL REFERENCES lists ON DELETE CASCADE,
    title text NOT NULL,
    done boolean NOT NULL DEFAULT false,
    tags text[] NOT NULL DEFAULT '{}'
);

-- REPLICATION: to read the log. BYPASSRLS: to copy rows that policies hide. Choose another password.
CREATE ROLE powersync WITH LOGIN REPLICATION BYPASSRLS PASSWORD 'powersync-dev';
GRANT USAGE ON SCHEMA public TO powersync;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO powersync;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO powersync;

CREATE PUBLICATION powersync FOR ALL TABLES;

INSERT INTO lists (owner_id, name) VALUES ('user-1', 'Groceries'), ('user-2', 'Garden');
INSERT INTO todos (list_id, title, tags) SELECT id, 'Bread', '{bakery,"every week"}' FROM lists WHERE owner_id = 'user-1';
