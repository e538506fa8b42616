/// The statements that make the tables, which ``PostgresStorageSchema`` describes.
extension PostgresStorageSchema {
    /// The migrations of this service; the first one makes the tables.
    static let migrations = [
        Migration(summary: "The tables are made.") { schema in tables(in: schema) + reader(in: schema) }
    ]

    private static func tables(in schema: String) -> String {
        """
        CREATE SEQUENCE \(schema).op_ids AS bigint;
        CREATE SEQUENCE \(schema).numbers AS bigint;

        CREATE TABLE \(schema).storage (id uuid PRIMARY KEY);
        INSERT INTO \(schema).storage (id) VALUES (gen_random_uuid());

        CREATE TABLE \(schema).source_histories (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            history text NOT NULL
        );

        CREATE TABLE \(schema).replication_streams (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            state text NOT NULL,
            source_handle text NOT NULL UNIQUE,
            content bytea NOT NULL,
            sync_plan text NOT NULL,
            version_label bytea,
            hash_key bytea NOT NULL CHECK (octet_length(hash_key) = 16),
            snapshot_done boolean NOT NULL DEFAULT false,
            snapshot_lsn text COLLATE "C",
            last_checkpoint bigint,
            last_checkpoint_lsn text COLLATE "C",
            last_checkpoint_at timestamptz,
            no_checkpoint_before text COLLATE "C",
            keepalive_op bigint,
            history_id bigint NOT NULL DEFAULT 0,
            compacted_op bigint NOT NULL DEFAULT 0,
            writer_epoch bigint NOT NULL DEFAULT 0,
            config_number bigint NOT NULL DEFAULT 1,
            last_config_number bigint NOT NULL DEFAULT 1,
            has_next boolean NOT NULL DEFAULT false,
            next_version_label bytea,
            next_filled_tables text NOT NULL DEFAULT '',
            next_is_filled boolean NOT NULL DEFAULT false,
            next_content bytea,
            next_sync_plan text
        );

        CREATE TABLE \(schema).writers (
            stream bigint NOT NULL,
            epoch bigint NOT NULL,
            id uuid NOT NULL,
            began_op bigint NOT NULL,
            PRIMARY KEY (stream, epoch)
        );

        CREATE TABLE \(schema).write_checkpoints (
            user_key bytea NOT NULL,
            digest bytea PRIMARY KEY,
            owner bytea NOT NULL,
            write_checkpoint bigint NOT NULL,
            lsn text COLLATE "C" NOT NULL,
            history_id bigint NOT NULL,
            visible_write_checkpoint bigint,
            visible_lsn text COLLATE "C",
            visible_history_id bigint,
            requested_at timestamptz,
            used_at timestamptz NOT NULL
        );
        CREATE INDEX ON \(schema).write_checkpoints (owner, used_at);

        CREATE TABLE \(schema).forgotten_write_checkpoints (
            owner bytea PRIMARY KEY,
            number bigint NOT NULL
        );

        CREATE TABLE \(schema).source_tables (
            id text PRIMARY KEY,
            stream bigint NOT NULL,
            relation_id text NOT NULL,
            schema_name text NOT NULL,
            table_name text NOT NULL,
            identity_columns text NOT NULL,
            form text NOT NULL,
            columns text NOT NULL,
            snapshot_done boolean NOT NULL DEFAULT false,
            snapshot_last_key bytea,
            is_outdated boolean NOT NULL DEFAULT false,
            fill_config bigint,
            fill_last_key bytea
        );
        CREATE INDEX ON \(schema).source_tables (stream);

        \(nameTable("names", in: schema))

        CREATE TABLE \(schema).buckets (
            stream bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('\(schema).numbers'),
            name bytea NOT NULL,
            digest bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
            last_op bigint NOT NULL DEFAULT 0,
            checksum bigint NOT NULL DEFAULT 0,
            count bigint NOT NULL DEFAULT 0,
            published_op bigint NOT NULL DEFAULT 0,
            published_checksum bigint NOT NULL DEFAULT 0,
            published_count bigint NOT NULL DEFAULT 0,
            cleared_op bigint NOT NULL DEFAULT 0,
            is_uncleared boolean NOT NULL DEFAULT false,
            PRIMARY KEY (stream, id),
            UNIQUE (stream, digest)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON \(schema).buckets (id) WHERE is_uncleared;

        CREATE TABLE \(schema).operations (
            stream bigint NOT NULL,
            bucket bigint NOT NULL,
            op_id bigint NOT NULL,
            checksum bigint NOT NULL,
            target_op bigint,
            source_table bigint,
            source_key uuid,
            table_name bigint,
            op "char" NOT NULL,
            row_id bytea,
            data text,
            PRIMARY KEY (stream, bucket, op_id)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON \(schema).operations (op_id);

        \(nameTable("lookups", in: schema))

        CREATE TABLE \(schema).parameter_entries (
            stream bigint NOT NULL,
            op_id bigint NOT NULL,
            lookup bigint NOT NULL,
            source_table bigint NOT NULL,
            source_key uuid NOT NULL,
            outputs bytea NOT NULL,
            PRIMARY KEY (stream, op_id)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON \(schema).parameter_entries (lookup, source_table, source_key, op_id);

        CREATE TABLE \(schema).row_states (
            stream bigint NOT NULL,
            source_table bigint NOT NULL,
            source_key uuid NOT NULL,
            state bytea NOT NULL,
            PRIMARY KEY (stream, source_table, source_key)
        ) PARTITION BY LIST (stream);

        CREATE TABLE \(schema).superseded_operations (
            stream bigint NOT NULL,
            bucket bigint NOT NULL,
            op_id bigint NOT NULL,
            by_op bigint NOT NULL,
            PRIMARY KEY (stream, bucket, op_id)
        ) PARTITION BY LIST (stream);

        CREATE TABLE \(schema).superseded_entries (
            stream bigint NOT NULL,
            op_id bigint NOT NULL,
            by_op bigint NOT NULL,
            PRIMARY KEY (stream, op_id)
        ) PARTITION BY LIST (stream);
        CREATE INDEX ON \(schema).superseded_entries (by_op);

        """
    }

    /// A table of the numbers that stand for names in other tables of a stream.
    private static func nameTable(_ table: String, in schema: String) -> String {
        """
        CREATE TABLE \(schema).\(table) (
            stream bigint NOT NULL,
            id bigint NOT NULL DEFAULT nextval('\(schema).numbers'),
            name bytea NOT NULL,
            digest bytea NOT NULL GENERATED ALWAYS AS (sha256(name)) STORED,
            PRIMARY KEY (stream, id),
            UNIQUE (stream, digest)
        ) PARTITION BY LIST (stream);
        """
    }

    /// Reads operations of several buckets, one bucket after the other, until there are enough.
    ///
    /// A query would read all of them before it leaves any out. `place` is where the bucket is in `bucket_names`, from 1.
    private static func reader(in schema: String) -> String {
        """
        CREATE FUNCTION \(schema).bucket_operations(
            of_stream bigint, bucket_names bytea[], positions bigint[], through bigint,
            row_limit bigint, byte_limit bigint
        ) RETURNS TABLE (
            place integer, op_id bigint, op "char", checksum bigint, target_op bigint, source_table bigint,
            source_key uuid, table_name bigint, row_id bytea, data text
        ) LANGUAGE plpgsql STABLE AS $$
        DECLARE
            found_bucket bigint;
        BEGIN
            FOR i IN 1 .. coalesce(cardinality(bucket_names), 0) LOOP
                EXIT WHEN row_limit <= 0 OR byte_limit < 0;
                SELECT b.id INTO found_bucket FROM \(schema).buckets AS b
                WHERE b.stream = of_stream AND b.digest = sha256(bucket_names[i]) AND b.last_op > positions[i];
                CONTINUE WHEN NOT FOUND;
                place := i;
                FOR op_id, op, checksum, target_op, source_table, source_key, table_name, row_id, data IN
                    SELECT o.op_id, o.op, o.checksum, o.target_op, o.source_table, o.source_key, o.table_name,
                        o.row_id, o.data
                    FROM \(schema).operations AS o
                    WHERE o.stream = of_stream AND o.bucket = found_bucket
                        AND o.op_id > positions[i] AND o.op_id <= through
                    ORDER BY o.op_id
                    LIMIT row_limit
                LOOP
                    RETURN NEXT;
                    row_limit := row_limit - 1;
                    byte_limit := byte_limit - coalesce(octet_length(data), 0);
                    EXIT WHEN row_limit <= 0 OR byte_limit < 0;
                END LOOP;
            END LOOP;
        END
        $$;
        """
    }
}
