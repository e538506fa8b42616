-- The source of the example app of Tests/PowerSyncCLITests/Generate.
CREATE TABLE lists (
    id TEXT PRIMARY KEY,
    owner_id TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE,
    archived BOOLEAN NOT NULL DEFAULT FALSE
);
CREATE TABLE todos (
    id TEXT PRIMARY KEY,
    list_id TEXT NOT NULL,
    title VARCHAR(200) NOT NULL,
    "default" TEXT,
    position BIGINT NOT NULL,
    estimate DOUBLE PRECISION,
    price DECIMAL(10, 2),
    done BOOLEAN NOT NULL,
    photo BLOB
);
