-- Two tables to sync, and what the service needs: a role, a publication, and a database for its buckets. The container of PostgreSQL
-- runs this once, when its data is new.
\set ON_ERROR_STOP on

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
GRANT SELECT ON lists, todos TO powersync;

-- The tables that are synced, and no others: the owner of the tables may do this, and FOR ALL TABLES only a superuser.
CREATE PUBLICATION powersync FOR TABLE lists, todos;

-- Where the service keeps its buckets: not in the database of the source, whose log would have every write to them.
CREATE DATABASE powersync_storage TEMPLATE template0 ENCODING 'UTF8';
GRANT CREATE ON DATABASE powersync_storage TO powersync;

INSERT INTO lists (owner_id, name) VALUES ('user-1', 'Groceries'), ('user-2', 'Garden');
INSERT INTO todos (list_id, title, tags) SELECT id, 'Bread', '{bakery,"every week"}' FROM lists WHERE owner_id = 'user-1';
