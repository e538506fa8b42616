import PowerSync
import PowerSyncBackend
import PowerSyncServicePostgres

/// Two tables in a PostgreSQL database as the source of the demo.
///
/// Each call has a connection of its own: one that is cancelled is of no use afterwards.
struct PostgresDemoSource: UploadingDemoSource {
    /// Where the tables are.
    let server: PostgresConnectionString

    private static let schema = PostgresDemoPlace.schema

    /// The tables, and what applies uploads: one call is one transaction.
    static let statements = """
        CREATE TABLE \(schema).lists (id text PRIMARY KEY, owner_id text, name text, photo_id text);
        CREATE TABLE \(schema).todos (id text PRIMARY KEY, list_id text, title text, done int);
        CREATE FUNCTION \(schema).apply_writes(writes jsonb) RETURNS void LANGUAGE plpgsql AS $apply$
        DECLARE
            entry jsonb;
            target text;
            columns text;
            inserted bigint;
        BEGIN
            FOR entry IN SELECT value FROM jsonb_array_elements(writes) LOOP
                target := format('\(schema).%I', entry ->> 'type');
                IF entry ->> 'op' = 'DELETE' THEN
                    EXECUTE format('DELETE FROM %s WHERE id = $1', target) USING entry ->> 'id';
                    CONTINUE;
                END IF;
                IF entry ->> 'op' = 'PUT' THEN
                    EXECUTE format(
                        'INSERT INTO %1$s SELECT * FROM jsonb_populate_record(NULL::%1$s, $1) ON CONFLICT DO NOTHING',
                        target
                    ) USING coalesce(entry -> 'data', '{}') || jsonb_build_object('id', entry ->> 'id');
                    GET DIAGNOSTICS inserted = ROW_COUNT;
                    CONTINUE WHEN inserted = 1;
                END IF;
                SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
                    WHERE attrelid = target::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'id';
                EXECUTE format(
                    'UPDATE %1$s AS old SET (%2$s) = (SELECT %2$s FROM jsonb_populate_record(old, $1)) WHERE id = $2',
                    target, columns
                ) USING coalesce(entry -> 'data', '{}'), entry ->> 'id';
            END LOOP;
        END
        $apply$;
        """

    func apply(_ upload: UploadRequest) async throws {
        let entries = UploadRequest(clientID: nil, entries: upload.entries)
        try await query(
            "SELECT \(Self.schema).apply_writes($1::jsonb -> 'data')",
            [String(decoding: entries.json, as: UTF8.self)],
            "applying an upload"
        )
    }

    func mayUse(photo: String, user: String) async throws -> Bool {
        // The database compares bytes, and Swift's texts do not.
        let answer = try await query(
            "SELECT count(*) = 0 OR bool_or(owner_id = $2) FROM \(Self.schema).lists WHERE photo_id = $1",
            [photo, user],
            "reading whose a photo is"
        )
        return answer == [["t"]]
    }

    func rows(of table: String, visibleTo user: String) async throws -> [DemoClient.Row] {
        let columns = DemoApp.schema.tables.first { $0.name == table }?.columns.map(\.name) ?? []
        let list = table == "lists" ? "id" : "list_id"
        return try await query(
            """
            SELECT id, \(columns.joined(separator: ", ")) FROM \(Self.schema).\(table)
            WHERE \(list) IN (SELECT id FROM \(Self.schema).lists WHERE owner_id = $1) ORDER BY id COLLATE "C"
            """,
            [user],
            "reading the rows of \(table)"
        )
    }

    func bulkLoad(todos: Int, lists: Int, owner user: String) async throws {
        try await query(
            """
            WITH lists AS (
                INSERT INTO \(Self.schema).lists (id, owner_id, name)
                SELECT 'bulk-' || n, $1, 'Imported list ' || n FROM generate_series(0, $2::int - 1) n
            )
            INSERT INTO \(Self.schema).todos (id, list_id, title, done)
            SELECT 'bulk-todo-' || n, 'bulk-' || n % $2::int,
                'Imported todo number ' || n || ', with a title of a common length', (n % 3 = 0)::int
            FROM generate_series(0, $3::int - 1) n
            """,
            [user, String(lists), String(todos)],
            "loading rows in bulk"
        )
    }

    @discardableResult
    private func query(_ sql: String, _ arguments: [String?], _ activity: String) async throws -> [[String?]] {
        let connection = try await PostgresConnection.open(server)
        defer { connection.close() }
        return try await connection.query(sql, arguments, timeout: .seconds(600), activity: activity)
    }
}
