import CLibPQ
import Foundation
import NIOConcurrencyHelpers
package import PowerSyncServicePostgres

/// A database of its own in the server of `scripts/with-postgres`, with the publication `powersync` for all tables.
///
/// It is dropped with the last reference to it, and its slots with it.
///
/// Blocks while it waits: for tests, and by other means than the source has.
package final class TestDatabase: Sendable {
    /// Why there is no database.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Contents of a database at some moment.
    package final class Backup: Sendable {
        fileprivate let name: String
        private let server: String

        fileprivate init(name: String, server: String) {
            self.name = name
            self.server = server
        }

        deinit {
            _ = try? Session(server).run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
        }
    }

    /// The name; also fit for a part of the name of a slot.
    package let name: String
    private let server: String
    private let session = NIOLockedValueBox<Session?>(nil)

    /// Makes a database.
    ///
    /// - Parameters:
    ///   - server: The URI of the superuser, that of `POWERSYNC_POSTGRES` if there is none.
    ///   - sql: Statements that make its tables.
    /// - Throws: ``Failure``, which says what to do when there is no server.
    package init(server: String? = nil, _ sql: String = "") throws {
        guard let server = server ?? ProcessInfo.processInfo.environment["POWERSYNC_POSTGRES"] else {
            throw Failure(
                description: """
                    There is no PostgreSQL server: `make test` starts one, and so does \
                    `scripts/with-postgres scripts/run-tests PowerSyncServicePostgresTests`.
                    """
            )
        }
        self.server = server
        name = "test_\(String(UInt64.random(in: .min ... .max), radix: 36))"
        try Session(server).run("CREATE DATABASE \(name)")
        try run("CREATE PUBLICATION powersync FOR ALL TABLES; \(sql)")
    }

    deinit {
        session.withLockedValue { $0 = nil }
        try? drop()
    }

    /// How to connect to the database.
    package var uri: String {
        let base = server.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return "\(base)/\(name)"
    }

    /// How a source connects to the database.
    package var connectionString: PostgresConnectionString { PostgresConnectionString(uri) }

    /// Runs statements, all in one transaction unless they say otherwise.
    ///
    /// - Returns: The rows of the last one.
    @discardableResult
    package func run(_ sql: String) throws -> [[String?]] {
        try session.withLockedValue { session in
            let open = try session ?? Session(uri)
            session = open
            do {
                return try open.run(sql)
            } catch {
                if !open.isAlive { session = nil }
                throw error
            }
        }
    }

    /// The version of the server: 150004 for 15.4, 180006 for 18.6.
    package var serverVersion: Int {
        get throws { try run("SHOW server_version_num").first?.first?.flatMap { Int($0) } ?? 0 }
    }

    /// Closes the own connection; the next statement opens another one.
    package func disconnect() throws {
        session.withLockedValue { $0 = nil }
    }

    /// Another connection.
    package func connect() throws -> Session { try Session(uri) }

    /// Waits in the server until a condition holds there.
    package func waitUntil(_ condition: String) throws {
        try run("DO $$ BEGIN WHILE NOT (\(condition)) LOOP PERFORM pg_stat_clear_snapshot(); END LOOP; END $$")
    }

    /// A statement that runs in another database of the server.
    @discardableResult
    package func runOutside(_ sql: String) throws -> [[String?]] { try Session(server).run(sql) }

    // MARK: Lives

    /// Ends all connections to the database.
    ///
    /// The next statement opens another one, also that of a task which runs it at the same time.
    package func disconnectEverybody() throws {
        try session.withLockedValue { session in
            session = nil
            try Session(server).run(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '\(name)'"
            )
        }
    }

    /// Copies the database.
    package func backUp() throws -> Backup {
        try disconnectEverybody()
        let backup = "\(name)_\(String(UInt32.random(in: .min ... .max), radix: 36))"
        try Session(server).run("CREATE DATABASE \(backup) TEMPLATE \(name)")
        return Backup(name: backup, server: server)
    }

    /// Becomes what was backed up.
    ///
    /// Slots are gone then.
    package func restore(_ backup: Backup) throws {
        try drop()
        try Session(server).run("CREATE DATABASE \(name) TEMPLATE \(backup.name)")
    }

    /// Drops slots, also those that are in use.
    package func dropSlots(like pattern: String = "%") throws {
        let server = try Session(server)
        let condition = "database = '\(name)' AND slot_name LIKE '\(pattern)'"
        var attempts = 0
        while true {
            try server.run(
                """
                SELECT pg_terminate_backend(active_pid, 10000) FROM pg_replication_slots
                WHERE active_pid IS NOT NULL AND \(condition)
                """
            )
            do {
                try server.run(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE \(condition)"
                )
                return
            } catch {
                // Whoever had it has connected again in between.
                attempts += 1
                guard attempts < 20 else { throw error }
            }
        }
    }

    private func drop() throws {
        try disconnectEverybody()
        try dropSlots()
        try Session(server).run("DROP DATABASE IF EXISTS \(name) WITH (FORCE)")
    }
}

/// A connection that blocks.
package final class Session: @unchecked Sendable {
    // @unchecked: only the lock is used by several threads at once.
    private let lock = NIOLock()
    private let connection: OpaquePointer?

    /// Connects.
    package init(_ uri: String) throws {
        connection = PQconnectdb(uri)
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        guard PQstatus(connection) == CONNECTION_OK else {
            // What is initialised is given back by `deinit`.
            throw TestDatabase.Failure(description: String(cString: PQerrorMessage(connection)))
        }
    }

    deinit {
        PQfinish(connection)
    }

    var isAlive: Bool { lock.withLock { PQstatus(connection) == CONNECTION_OK } }

    /// Runs statements, all in one transaction unless they say otherwise.
    ///
    /// - Returns: The rows of the last one.
    @discardableResult
    package func run(_ sql: String) throws -> [[String?]] {
        try lock.withLock {
            let result = PQexec(connection, sql)
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: return []
            case PGRES_TUPLES_OK:
                return (0..<PQntuples(result)).map { row in
                    (0..<PQnfields(result)).map { column in
                        PQgetisnull(result, row, column) == 1
                            ? nil : PQgetvalue(result, row, column).map { String(cString: $0) }
                    }
                }
            default:
                throw TestDatabase.Failure(description: "\(String(cString: PQerrorMessage(connection))) in: \(sql)")
            }
        }
    }

    /// Sends a statement without the end of its pipeline, as a process does that is stopped meanwhile, and waits until the server
    /// waits for the rest.
    ///
    /// The connection can do nothing else then.
    package func sendWithoutEnd(_ sql: String, observedBy observer: TestDatabase) throws {
        let process = try lock.withLock {
            guard PQenterPipelineMode(connection) == 1,
                PQsendQueryParams(connection, sql, 0, nil, nil, nil, nil, 0) == 1, PQflush(connection) == 0
            else { throw TestDatabase.Failure(description: String(cString: PQerrorMessage(connection))) }
            return PQbackendPID(connection)
        }
        try observer.run(
            """
            DO $$ BEGIN
                WHILE NOT EXISTS (
                    SELECT 1 FROM pg_stat_activity WHERE pid = \(process) AND state = 'active' AND wait_event = 'ClientRead'
                ) LOOP
                    PERFORM pg_stat_clear_snapshot();
                END LOOP;
            END $$
            """
        )
    }
}
