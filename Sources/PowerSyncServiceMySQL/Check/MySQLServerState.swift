import PowerSyncMySQLConnection

/// What a server says of itself and of the account that asks.
struct MySQLServerState: Sendable, Hashable {
    /// What `SHOW BINARY LOG STATUS` has said.
    enum LogStatus: Sendable, Hashable {
        /// The databases whose changes are the only ones in the log, and those whose changes are not; empty for no filter.
        case written(only: [String], without: [String])
        /// The server writes no log.
        case none
        /// The account may not ask.
        case denied
    }

    /// Whether the server gets its rows from another one.
    enum Replication: Sendable, Hashable {
        case none
        /// The threads run.
        case running
        /// The threads are stopped.
        case stopped
        /// The account may not ask.
        case denied
    }

    /// `VERSION()`: `9.7.4`, `10.11.19-MariaDB-0+deb12u1`.
    var version: String
    /// `@@version_comment`.
    var comment: String
    /// The global variables, by their names in lower case: those that the server has.
    var variables: [String: String]
    /// Its log.
    var log: LogStatus
    /// Where its rows come from.
    var replication: Replication
    /// Whether the account may see InnoDB's tables.
    var mayProcess: Bool
    /// The lines of `SHOW GRANTS`.
    var grants: [String]
    /// The account, as `CURRENT_USER()` names it.
    var account: MySQLAccount

    /// Whether it is MariaDB.
    var isMariaDB: Bool { version.contains("MariaDB") }

    /// The numbers of the version: `[10, 11, 19]`.
    var versionNumbers: [Int] {
        version.prefix { $0.isNumber || $0 == "." }.split(separator: ".").compactMap { Int($0) }
    }

    /// Whether the version is not before another one.
    func isVersion(_ numbers: Int...) -> Bool { !versionNumbers.lexicographicallyPrecedes(numbers) }

    /// A variable in upper case; `nil` when the server does not have it.
    func setting(_ name: String) -> String? { variables[name]?.uppercased() }

    /// Whether a switch is on; `nil` when the server does not have it.
    func isOn(_ name: String) -> Bool? { setting(name).map { $0 == "ON" || $0 == "1" } }

    /// The variables that the checks look at.
    static let names = [
        "aurora_version", "basedir", "binlog_expire_logs_seconds", "binlog_format", "binlog_row_image",
        "binlog_row_value_options", "binlog_storage_engine", "enforce_gtid_consistency", "expire_logs_days",
        "gtid_mode", "innodb_flush_log_at_trx_commit", "innodb_native_foreign_keys", "log_bin",
        "lower_case_table_names", "read_only", "server_id", "super_read_only", "sync_binlog",
    ]

    /// Asks a server.
    ///
    /// - Parameter connection: A connection.
    /// - Returns: What it says.
    /// - Throws: `MySQLConnectionError`, or `CancellationError`.
    static func read(_ connection: MySQLConnection) async throws -> MySQLServerState {
        let names = names.map { MySQLText.literal($0) }.joined(separator: ", ")
        let first = try await connection.texts("SELECT VERSION(), @@version_comment, CURRENT_USER()").first ?? []
        var state = MySQLServerState(
            version: first.first.flatMap(\.self) ?? "",
            comment: first.dropFirst().first.flatMap(\.self) ?? "",
            variables: [:],
            log: .none,
            replication: .none,
            mayProcess: true,
            grants: [],
            account: MySQLAccount(first.last.flatMap(\.self) ?? "")
        )
        for row in try await connection.texts("SHOW GLOBAL VARIABLES WHERE Variable_name IN (\(names))") {
            guard row.count == 2, let name = row[0]?.lowercased(), let value = row[1] else { continue }
            state.variables[name] = value
        }
        guard state.kindFinding == nil else { return state }
        try await state.readLog(connection)
        try await state.readReplication(connection)
        let tables = state.isMariaDB ? "INNODB_SYS_TABLES" : "INNODB_TABLES"
        state.mayProcess =
            try await unlessDenied {
                try await connection.texts("SELECT NAME FROM information_schema.\(tables) LIMIT 1")
            }
            != nil
        state.grants = try await connection.texts("SHOW GRANTS").compactMap { $0.first ?? nil }
        return state
    }

    private mutating func readLog(_ connection: MySQLConnection) async throws {
        let statement = !isMariaDB && isVersion(8, 2) ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS"
        guard let rows = try await Self.unlessDenied({ try await connection.query(statement).rows }) else {
            log = .denied
            return
        }
        func databases(_ text: String?) -> [String] { (text ?? "").split(separator: ",").map(String.init) }
        log =
            rows.first.map {
                .written(only: databases($0.string("Binlog_Do_DB")), without: databases($0.string("Binlog_Ignore_DB")))
            } ?? .none
    }

    private mutating func readReplication(_ connection: MySQLConnection) async throws {
        let statement =
            isMariaDB
            ? "SHOW ALL SLAVES STATUS" : isVersion(8, 0, 22) ? "SHOW REPLICA STATUS" : "SHOW SLAVE STATUS"
        guard let rows = try await Self.unlessDenied({ try await connection.query(statement).rows }) else {
            replication = .denied
            return
        }
        // The channels of Group Replication bring changes to members that are no replicas.
        let channels = rows.filter { !($0.string("Channel_Name") ?? "").hasPrefix("group_replication") }
        let isRunning = channels.contains { row in
            ["Replica_IO_Running", "Slave_IO_Running"].contains { row.string($0).map { $0 != "No" } ?? false }
        }
        replication = channels.isEmpty ? .none : isRunning ? .running : .stopped
    }

    private static func unlessDenied<Result>(_ body: () async throws -> Result) async throws -> Result? {
        do {
            return try await body()
        } catch let error as MySQLConnectionError where error.serverCode == MySQLServerCode.privilegeMissing {
            return nil
        }
    }
}

// MARK: Privileges

extension MySQLServerState {
    /// Whether the account has a privilege of the whole server; `nil` when a role may have it.
    func has(_ privileges: String...) -> Bool? {
        let lines = grants.map { $0.uppercased() }
        for line in lines where line.contains(" ON *.* ") {
            let list = line[..<(line.firstRange(of: " ON *.* ")?.lowerBound ?? line.endIndex)]
            if list.hasSuffix("ALL PRIVILEGES") { return true }
            let granted = list.dropFirst("GRANT ".count).split(separator: ",").map { $0.trimmingPrefix { $0 == " " } }
            if privileges.contains(where: { granted.contains(Substring($0)) }) { return true }
        }
        // The grant of a role names no object.
        return lines.contains { !$0.contains(" ON ") } ? nil : false
    }

    /// The statement that grants privileges of the whole server.
    func grant(_ privileges: String) -> String { "GRANT \(privileges) ON *.* TO \(account.quoted);" }
}

// MARK: Hosts

extension MySQLServerState {
    /// Whether it is a server of Amazon RDS or Aurora, whose settings are in parameter groups.
    var isRDS: Bool { variables["aurora_version"] != nil || variables["basedir"]?.hasPrefix("/rdsdbbin") == true }

    /// Whether it is a server of Google Cloud SQL, whose settings are flags.
    var isCloudSQL: Bool { version.contains("-google") }

    /// What gives a variable a value.
    func mending(_ name: String, _ value: String, needsRestart: Bool = false) -> String {
        if isRDS {
            let group = variables["aurora_version"] == nil ? "parameter group" : "cluster parameter group"
            return "Set \(name) = \(value) in the \(group)\(needsRestart ? ", and reboot the server" : "")."
        }
        if isCloudSQL {
            return "Set the flag \(name) = \(value)."
        }
        if needsRestart {
            return "Write \(name) = \(value) below [mysqld] in the server's configuration, and restart it."
        }
        let literal = value.allSatisfy(\.isNumber) ? value : MySQLText.literal(value)
        guard isMariaDB else { return "SET PERSIST \(name) = \(literal);" }
        return "SET GLOBAL \(name) = \(literal); and \(name) = \(value) below [mariadb] in the server's configuration."
    }
}
