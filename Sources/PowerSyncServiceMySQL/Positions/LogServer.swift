import MySQLBinlog
import PowerSyncMySQLConnection

/// What a server says of itself: which one it is, and since when it runs.
struct LogServer: Hashable, Sendable {
    /// Which of the two servers.
    var flavour: MySQLFlavour
    /// The UUID of a MySQL server; id and domain of a MariaDB server, which another one may have, too: stamps of files make up for it.
    var identity: String
    /// When it was started, in seconds since 1970 by its own clock.
    var startedAt: Int64

    /// How far apart two readings of the same start may be, in seconds: both clocks are read in whole seconds.
    private static let tolerance: Int64 = 3

    /// Whether it is the same process of the same server.
    func isSameRun(as other: LogServer) -> Bool {
        flavour == other.flavour && identity == other.identity
            && abs(startedAt - other.startedAt) <= Self.tolerance
    }

    /// Asks a server.
    static func read(_ connection: MySQLConnection) async throws -> LogServer {
        let (identity, status) =
            connection.isMariaDB
            ? ("CONCAT(@@server_id, '-', @@gtid_domain_id)", "information_schema.GLOBAL_STATUS")
            : ("@@server_uuid", "performance_schema.global_status")
        let result = try await connection.query(
            """
            SELECT \(identity) AS identity, UNIX_TIMESTAMP() - CAST(VARIABLE_VALUE AS SIGNED) AS started
            FROM \(status) WHERE VARIABLE_NAME = 'Uptime'
            """
        )
        guard let row = result.rows.first, let identity = row.string("identity"), let started = row.integer("started")
        else { throw MySQLConnectionError(.protocolViolation, "The server does not say which one it is.") }
        return LogServer(
            flavour: connection.isMariaDB ? .mariadb : .mysql,
            identity: identity,
            startedAt: Int64(started)
        )
    }
}

/// A log file, as the server lists it.
struct ListedLogFile: Hashable, Sendable {
    var name: LogFileName
    /// Its bytes.
    var size: UInt64
}

extension MySQLConnection {
    /// Where the log ends: read under the lock of the log, so between two transactions.
    ///
    /// - Throws: ``MySQLConnectionError``; of a server without a log `.protocolViolation`.
    func logEnd() async throws -> (file: LogFileName, offset: UInt64) {
        let statement = !isMariaDB && isAtLeast(8, 2) ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS"
        let result = try await query(statement)
        guard let row = result.rows.first, let file = row.string("File").flatMap({ LogFileName($0) }),
            let offset = row.string("Position").flatMap({ UInt64($0) })
        else {
            throw MySQLConnectionError(.protocolViolation, "The server has no binary log: \(statement) shows none.")
        }
        return (file, offset)
    }

    /// The files that the server has, from the oldest to the newest.
    func logFiles() async throws -> [ListedLogFile] {
        try await query("SHOW BINARY LOGS").rows.compactMap { row in
            guard let name = row.string("Log_name").flatMap({ LogFileName($0) }),
                let size = row.string("File_size").flatMap({ UInt64($0) })
            else { return nil }
            return ListedLogFile(name: name, size: size)
        }
    }

    /// What the events of the log end with now: what is said before its first event says it.
    func logChecksum() async throws -> BinlogChecksum {
        let name = try await query("SELECT @@global.binlog_checksum").firstString
        return name == "NONE" ? .none : .crc32
    }

    /// Whether the server's version is this one or a later one.
    func isAtLeast(_ major: Int, _ minor: Int) -> Bool {
        let numbers = serverVersion.split(separator: ".").prefix(2).map { Int($0.prefix(while: \.isNumber)) ?? 0 }
        guard numbers.count == 2 else { return false }
        return (numbers[0], numbers[1]) >= (major, minor)
    }
}
