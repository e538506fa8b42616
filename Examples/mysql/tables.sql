-- Two tables to sync.
CREATE DATABASE powersync_example CHARACTER SET utf8mb4;
USE powersync_example;

CREATE TABLE lists (
    id CHAR(36) NOT NULL PRIMARY KEY,
    owner_id VARCHAR(64) NOT NULL,
    name VARCHAR(200) NOT NULL,
    created_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
);

-- No ON DELETE CASCADE: before MySQL 9.6, and on MariaDB, the log does not have what it deletes (docs/mysql.md "Foreign keys").
CREATE TABLE todos (
    id CHAR(36) NOT NULL PRIMARY KEY,
    list_id CHAR(36) NOT NULL,
    title VARCHAR(500) NOT NULL,
    done BOOLEAN NOT NULL DEFAULT FALSE,
    tags SET('bakery', 'every week', 'urgent') NOT NULL DEFAULT '',
    FOREIGN KEY (list_id) REFERENCES lists (id)
);

INSERT INTO lists (id, owner_id, name) VALUES
    ('6f9b1c2e-0d1a-4c55-9a53-0a5b7c3d1e01', 'user-1', 'Groceries'),
    ('6f9b1c2e-0d1a-4c55-9a53-0a5b7c3d1e02', 'user-2', 'Garden');
INSERT INTO todos (id, list_id, title, tags) VALUES
    ('6f9b1c2e-0d1a-4c55-9a53-0a5b7c3d1e03', '6f9b1c2e-0d1a-4c55-9a53-0a5b7c3d1e01', 'Bread', 'bakery,every week');
