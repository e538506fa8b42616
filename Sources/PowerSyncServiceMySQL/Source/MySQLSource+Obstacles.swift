import Foundation
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
package import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Tables that are left out until they can be read.
extension MySQLSource {
    /// How often tables that are left out are looked at.
    static let obstacleInterval = Duration.seconds(5)
    /// How many seconds a look waits for a table that another session has locked.
    static let lockSeconds = 1

    package func obstacle(to table: SourceTableDescriptor) async throws -> TableObstacle? {
        let error = try await calling {
            try await pool.withConnection { connection -> MySQLConnectionError? in
                try await connection.execute("SET SESSION lock_wait_timeout = \(Self.lockSeconds)")
                var found: MySQLConnectionError?
                do {
                    try await connection.execute("SELECT 1 FROM \(table.name.mysqlQuoted) LIMIT 0")
                } catch let error as MySQLConnectionError where error.code == .server {
                    found = error
                }
                // Others use the connection afterwards.
                try await connection.execute("SET SESSION lock_wait_timeout = @@global.lock_wait_timeout")
                return found
            }
        }
        let found = error.flatMap { Self.reason($0) }
        // What a table is that opens by now, the catalogue says the next time.
        guard !MySQLTable.isUnopened(table) || found == .locked || found == .damaged else { throw unopened(table.name) }
        guard let error, let reason = found else {
            obstacles.withLockedValue { $0[table.name] = nil }
            return nil
        }
        let message =
            switch reason {
            case .locked: "\(table.name) is locked by another session: SHOW PROCESSLIST names it."
            case .notReadable:
                "\(table.name) cannot be read: \(error.message). GRANT SELECT ON \(table.name.mysqlQuoted) mends it."
            case .damaged:
                """
                The server cannot open \(table.name), which is damaged: \(error.message). REPAIR TABLE \(table.name.mysqlQuoted) mends it, \
                or a backup.
                """
            case .failing: "\(table.name) cannot be read: \(error)"
            }
        let now = now().timeIntervalSince1970
        return obstacles.withLockedValue { obstacles in
            let known = obstacles[table.name]
            let since = known?.reason == reason ? known?.since ?? now : now
            let obstacle = TableObstacle(table: table.name, reason: reason, message: message, since: since)
            obstacles[table.name] = obstacle
            return obstacle
        }
    }

    /// The error for a table of which nothing is known: the process has not seen it open.
    func unopened(_ table: SourceTableName) -> ReplicationSourceError {
        ReplicationSourceError(
            .unavailable,
            """
            \(table) cannot be opened by the server, and what its rows are is not known: it is damaged (REPAIR TABLE \
            \(table.mysqlQuoted) mends it, or DROP TABLE gives it up), or locked by another session (SHOW PROCESSLIST names it).
            """
        )
    }

    /// What is in the way of a table; `nil` for a table that is gone, and an error that says nothing about a table.
    static func reason(_ error: MySQLConnectionError) -> TableObstacle.Reason? {
        switch error.serverCode {
        // Lock wait timeout.
        case 1205: .locked
        // Denied: schema, table, column, routine of a view.
        case 1044, 1142, 1143, 1370: .notReadable
        // Crashed, damaged, or of a missing engine; a missing file; a discarded or missing tablespace.
        case 126, 127, 144, 145, 1016, 1017, 1030, 1033, 1034, 1035, 1194, 1195, 1286, 1712, 1812, 1814, 1877, 1932,
            3185:
            .damaged
        default: nil
        }
    }
}
