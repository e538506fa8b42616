import Foundation
import Logging
import PowerSyncServicePostgres

/// A database of its own in a server.
struct BenchmarkDatabase {
    let name = "bench_\(String(UInt64.random(in: .min ... .max), radix: 36))"
    private let server: PostgresConnectionString
    private let connection: PostgresConnection
    /// How to connect to it.
    let uri: String

    /// Makes the database.
    init(server uri: String) async throws {
        server = PostgresConnectionString(uri)
        let outside = try await PostgresConnection.open(server)
        try await outside.execute("CREATE DATABASE \(name)", activity: "making a database")
        outside.close()
        let parts = uri.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        self.uri = parts.joined(separator: "/") + "/\(name)"
        connection = try await PostgresConnection.open(PostgresConnectionString(self.uri))
    }

    /// Uses a database, and drops it.
    static func with(server: String, _ body: (BenchmarkDatabase) async throws -> Void) async throws {
        let database = try await BenchmarkDatabase(server: server)
        do {
            try await body(database)
        } catch {
            try await database.drop()
            throw error
        }
        try await database.drop()
    }

    /// A bucket storage in the database.
    func storage() async throws -> PostgresBucketStorage {
        var settings = PostgresBucketStorage.Settings(connection: PostgresConnectionString(uri))
        settings.defaultTableSchema = PostgresSource.defaultSchema
        return try await PostgresBucketStorage.open(
            settings,
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// A source over the database.
    func source() -> PostgresSource {
        PostgresSource(
            .init(connection: PostgresConnectionString(uri)),
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    /// Makes a table with rows of about 250 bytes.
    func fill(rows: Int) async throws {
        try await connection.execute(
            """
            CREATE TABLE public.todos (id uuid PRIMARY KEY, list int, title text, done bool, made timestamptz, data jsonb);
            CREATE PUBLICATION powersync FOR ALL TABLES;
            INSERT INTO public.todos
            SELECT md5(n::text)::uuid, n % 1000, repeat('title ', 10) || n, false, now(),
              jsonb_build_object('n', n, 'tags', '["a", "b"]'::jsonb)
            FROM generate_series(1, \(rows)) n
            """,
            timeout: .seconds(600),
            activity: "filling a table"
        )
    }

    /// Updates rows, one in a transaction.
    func update(_ rows: Int) async throws {
        try await connection.execute(
            """
            DO $$ BEGIN
              FOR n IN 1..\(rows) LOOP
                UPDATE public.todos SET done = NOT done, list = n % 1000 WHERE id = md5(n::text)::uuid;
                COMMIT;
              END LOOP;
            END $$
            """,
            timeout: .seconds(1800),
            activity: "updating rows"
        )
    }

    /// Runs a statement.
    func run(_ sql: String) async throws {
        try await connection.execute(sql, activity: "writing rows")
    }

    /// The number that a query gives.
    func count(_ sql: String) async throws -> Int {
        try await connection.execute(sql, activity: "counting rows").first?.first.flatMap { $0 }.flatMap { Int($0) }
            ?? 0
    }

    /// Drops the database with its slots.
    func drop() async throws {
        connection.close()
        let outside = try await PostgresConnection.open(server)
        try await outside.execute(
            """
            SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots
              WHERE database = '\(name)' AND active_pid IS NOT NULL;
            SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = '\(name)'
            """,
            activity: "dropping slots"
        )
        try await outside.execute("DROP DATABASE \(name) WITH (FORCE)", activity: "dropping a database")
        outside.close()
    }
}
