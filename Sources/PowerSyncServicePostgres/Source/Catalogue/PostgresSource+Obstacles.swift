import Foundation
import NIOConcurrencyHelpers
package import PowerSyncServiceCore

/// Tables that are left out until they can be read.
extension PostgresSource {
    /// How long a copy waits for a table that another session has locked, while all other tables wait for the copy.
    static let lockTimeout = "3s"
    /// The same for a look at a table that is known to be locked.
    private static let lockLook = "20ms"
    /// How often tables that are left out are looked at.
    static let obstacleInterval = Duration.seconds(5)
    /// How long a table is left out that could not be read for another reason, before it is tried again.
    private static let failurePause = Duration.seconds(60)

    /// What is known of a table that is left out.
    struct KnownObstacle: Sendable {
        var obstacle: TableObstacle
        /// When to try again, as the source's stopwatch tells.
        var retriedAt: Duration?
    }

    package func obstacle(to table: SourceTableDescriptor) async throws -> TableObstacle? {
        guard let oid = table.oid else { return nil }
        let found = try await pool.withConnection { connection -> (TableObstacle.Reason, String)? in
            if let sentence = try await missingPrivilege(on: table, oid, connection) { return (.notReadable, sentence) }
            if let sentence = try await lock(on: table, oid, connection) { return (.locked, sentence) }
            return nil
        }
        if let (reason, message) = found { return remember(table, oid, reason, message) }
        return obstacles.withLockedValue { obstacles in
            if let known = obstacles[oid], let time = known.retriedAt, stopwatch.elapsed < time {
                return known.obstacle
            }
            obstacles[oid] = nil
            return nil
        }
    }

    @discardableResult
    private func remember(
        _ table: SourceTableDescriptor,
        _ oid: PostgresOID,
        _ reason: TableObstacle.Reason,
        _ message: String,
        retriedAt: Duration? = nil
    ) -> TableObstacle {
        let now = now().timeIntervalSince1970
        return obstacles.withLockedValue { obstacles in
            let known = obstacles[oid]?.obstacle
            let since = known?.reason == reason ? known?.since ?? now : now
            let obstacle = TableObstacle(table: relation(table).name, reason: reason, message: message, since: since)
            obstacles[oid] = KnownObstacle(obstacle: obstacle, retriedAt: retriedAt)
            return obstacle
        }
    }

    /// What it means that a table could not be read.
    ///
    /// - Parameters:
    ///   - error: The error of a statement that reads the table.
    ///   - table: The table.
    /// - Returns: An error with the code `tableUnavailable` if the fault is that of the table, and `error` otherwise.
    func explain(_ error: PostgresError, of table: SourceTableDescriptor) -> any Error {
        guard error.isFaultOfTable, let oid = table.oid else { return error }
        if error.sqlState == PostgresError.SQLState.lockNotAvailable {
            remember(table, oid, .locked, "\(relation(table).name) is locked.")
        } else {
            remember(
                table,
                oid,
                .failing,
                """
                \(relation(table).name) cannot be read, and is tried again in \(Self.failurePause.components.seconds) s: \(error.message)
                """,
                retriedAt: stopwatch.elapsed + Self.failurePause
            )
        }
        return ReplicationSourceError(.tableUnavailable, "\(error)", underlyingError: error)
    }

    /// What it means that rows of a table that is followed could not be read: the table is copied again, as soon as it can be.
    func explainRows(_ error: PostgresError, of table: SourceTableDescriptor) -> any Error {
        guard error.isFaultOfTable, let oid = table.oid else { return error }
        // Otherwise its changes would be missing if it is not changed any more.
        copyAgain(oid)
        return outdated(table)
    }

    /// What is in the way of tables now, for operators.
    var knownObstacles: [TableObstacle] {
        obstacles.withLockedValue { $0.values.map(\.obstacle) }.sorted { "\($0.table)" < "\($1.table)" }
    }

    // MARK: Looking

    private func missingPrivilege(
        on table: SourceTableDescriptor,
        _ oid: PostgresOID,
        _ connection: PostgresConnection
    ) async throws -> String? {
        let rows = try await connection.query(
            """
            SELECT has_schema_privilege(n.oid, 'USAGE'), has_table_privilege(c.oid, 'SELECT'), current_user
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = $1::oid
            """,
            ["\(oid)"],
            activity: "reading the privileges of table \(relation(table).name)"
        )
        // The copy finds that it is gone.
        guard let row = rows.first, row.count == 3, let role = row[2], row[0] != "t" || row[1] != "t" else {
            return nil
        }
        let statements = PostgresCheck.grants(
            on: relation(table).name,
            to: role,
            schemaCanBeUsed: row[0] == "t",
            canBeRead: row[1] == "t"
        )
        return "Role \(role) may not read \(relation(table).name). \(statements)"
    }

    private func lock(
        on table: SourceTableDescriptor,
        _ oid: PostgresOID,
        _ connection: PostgresConnection
    ) async throws -> String? {
        let isKnown = obstacles.withLockedValue { $0[oid]?.obstacle.reason == .locked }
        do {
            try await connection.execute(
                """
                BEGIN READ ONLY; SET LOCAL lock_timeout TO '\(isKnown ? Self.lockLook : Self.lockTimeout)'; \
                LOCK TABLE \(relation(table).rowSource) IN ACCESS SHARE MODE; COMMIT
                """,
                activity: "looking whether table \(relation(table).name) is locked"
            )
            return nil
        } catch let error as PostgresError {
            // A connection that cannot go back is of no use.
            do { try await connection.execute("ROLLBACK", activity: "rolling back") } catch { connection.close() }
            guard error.code == .server else { throw error }
            // It is gone, has another name, or may no longer be read: the copy finds that out.
            guard error.sqlState == PostgresError.SQLState.lockNotAvailable else { return nil }
        }
        return "\(relation(table).name) is locked by \(try await connection.blockers(ofTable: oid).sentence)"
    }
}

extension PostgresError {
    /// Whether it says something about the table that was read, and nothing about the server or the connection.
    ///
    /// Classes of SQLSTATE: data (22), access rules (42), routines (38, 39), messages of functions (P0), broken files (XX).
    var isFaultOfTable: Bool {
        guard code == .server, let sqlState else { return false }
        return sqlState == SQLState.lockNotAvailable
            || ["22", "38", "39", "42", "P0", "XX"].contains(sqlState.prefix(2))
    }
}
