import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// Tells whether a server can be replicated, and what is missing (docs/mysql.md "Checking a server").
///
/// What the server says is read first, and judged without a connection:
///
/// ```swift
/// let state = try await MySQLServerState.read(connection)
/// let findings = MySQLCheck.findings(state, catalogue)
/// ```
enum MySQLCheck {
    /// A check of the server.
    private typealias ServerCheck = @Sendable (MySQLServerState) -> Finding?

    /// Judges a server and what it has for a plan.
    ///
    /// - Parameters:
    ///   - settings: The source.
    ///   - connection: A connection to the server.
    ///   - plan: What is synced, with the default schema of the source.
    ///   - text: The sync config of the plan, and the name of its file: its names are compared with those that there are. `nil` to say of
    ///     the plan alone which tables are not there.
    /// - Returns: The findings, errors first.
    /// - Throws: `MySQLConnectionError`, or `CancellationError`.
    static func findings(
        _ settings: MySQLSettings,
        on connection: MySQLConnection,
        plan: SyncPlan,
        text: (content: String, file: String)? = nil
    ) async throws -> [Finding] {
        let state = try await MySQLServerState.read(connection)
        if let finding = state.kindFinding { return [finding] }
        let catalogue = try await MySQLCatalogue.read(for: plan, settings, connection)
        var findings = serverFindings(state)
        if !settings.copiesAfterAlter { findings.append(keptRows) }
        findings += filterFindings(state, plan, catalogue.tables)
        findings += catalogue.findings
        findings += imageFindings(state, catalogue)
        if let text {
            findings += try await textFindings(text.content, file: text.file, plan.defaultSchema, connection)
        } else {
            findings += missingTables(plan, catalogue, state)
        }
        return findings.errorsFirst
    }

    /// That ALTER is not followed, as the configuration says.
    private static let keptRows = Finding.warning(
        nil,
        "copy_after_alter is false: rows whose values an ALTER changes keep on clients what they had until they are written.",
        "Take copy_after_alter out of the configuration, and tables are copied again after such statements."
    )

    /// What keeps a service from starting: settings of the server, and privileges of the account.
    static func settingErrors(on connection: MySQLConnection) async throws -> [Finding] {
        let state = try await MySQLServerState.read(connection)
        return (state.kindFinding.map { [$0] } ?? serverFindings(state)).filter { $0.severity == .error }
    }

    /// Judges the settings of a server that is MySQL or MariaDB, and the privileges of the account.
    static func serverFindings(_ state: MySQLServerState) -> [Finding] { serverChecks.compactMap { $0(state) } }

    private static let serverChecks: [ServerCheck] = [
        { state in
            guard state.isOn("log_bin") == false else { return nil }
            return .error(
                .mysqlLogOff,
                "The server writes no binary log (log_bin).",
                state.isRDS
                    ? "Switch automated backups on: with them, the server writes the log."
                    : state.isCloudSQL
                        ? "Switch point-in-time recovery on: with it, the server writes the log."
                        : state.mending("log_bin", "binlog", needsRestart: true)
            )
        },
        { state in
            guard let format = state.setting("binlog_format"), format != "ROW" else { return nil }
            return .error(
                .mysqlLogFormat,
                "binlog_format is \(format): the log has statements, and not the rows that they change.",
                "\(state.mending("binlog_format", "ROW")) Sessions that are open keep theirs until they connect again."
            )
        },
        { state in
            guard let image = state.setting("binlog_row_image"), isIncomplete(image) else { return nil }
            return .warning(
                .mysqlRowImage,
                "binlog_row_image is \(image): the log does not have whole rows, and each changed row is read again by its key.",
                state.mending("binlog_row_image", "FULL")
            )
        },
        { state in
            guard let options = state.setting("binlog_row_value_options"), !options.isEmpty else { return nil }
            return .warning(
                .mysqlRowImage,
                """
                binlog_row_value_options is \(options): the log has the changed parts of JSON documents only, and each row with such a \
                change is read again by its key.
                """,
                "SET PERSIST binlog_row_value_options = '';"
            )
        },
        { state in
            guard !state.isMariaDB else { return nil }
            let mode = state.setting("gtid_mode") ?? "OFF"
            let consistency = state.setting("enforce_gtid_consistency") ?? "OFF"
            guard mode != "ON" || consistency != "ON" && consistency != "1" else { return nil }
            return .error(
                .mysqlGTID,
                """
                gtid_mode is \(mode) and enforce_gtid_consistency is \(consistency): it cannot be told which transactions of the log \
                can be seen in the tables.
                """,
                state.isRDS
                    ? "Set gtid-mode = ON and enforce_gtid_consistency = ON in the parameter group, and reboot the server."
                    : gtidSteps(from: mode, consistency)
            )
        },
        { state in
            guard state.setting("server_id") == "0" else { return nil }
            return .error(
                .mysqlServer,
                "server_id is 0: the server gives its log to no reader.",
                state.mending("server_id", "1")
            )
        },
        { state in
            guard let engine = state.setting("binlog_storage_engine"), !engine.isEmpty else { return nil }
            return .error(
                .mysqlServer,
                "binlog_storage_engine is \(engine): the log is not in files, and cannot be read.",
                state.mending("binlog_storage_engine", "", needsRestart: true)
            )
        },
        { state in
            guard state.replication == .running else { return nil }
            return .error(
                .mysqlReplica,
                "The server is a replica: it would be read without the uploads of clients that the primary has confirmed.",
                "Connect to the primary."
            )
        },
        { state in
            guard state.replication == .stopped else { return nil }
            return .warning(
                .mysqlReplica,
                "The server was told to be a replica, and is stopped as such.",
                "Connect to the primary; if this is the primary, \(state.isMariaDB ? "RESET SLAVE ALL;" : "RESET REPLICA ALL;")"
            )
        },
        { state in
            let names = ["super_read_only", "read_only"].filter { (state.setting($0) ?? "OFF") != "OFF" }
            guard let name = names.first, state.setting(name) != "0" else { return nil }
            return .error(
                .mysqlReplica,
                "\(name) is \(state.setting(name) ?? "ON"): no client can write to this server.",
                "Connect to the primary; if this is the primary, SET GLOBAL \(name) = OFF;"
            )
        },
        { state in
            guard state.log == .denied else { return nil }
            return .error(
                .mysqlPrivilege,
                "The user may not see where the log ends.",
                state.grant(state.isMariaDB ? "BINLOG MONITOR" : "REPLICATION CLIENT")
            )
        },
        { state in
            guard state.has("REPLICATION SLAVE") == false else { return nil }
            return .error(.mysqlPrivilege, "The user may not read the log.", state.grant("REPLICATION SLAVE"))
        },
        { state in
            guard state.replication == .denied, state.log != .denied else { return nil }
            return .warning(
                .mysqlPrivilege,
                "The user may not see whether the server is a replica.",
                state.grant(state.isMariaDB ? "SLAVE MONITOR" : "REPLICATION CLIENT")
            )
        },
        { state in
            guard !state.mayProcess else { return nil }
            return .warning(
                .mysqlPrivilege,
                """
                The user may not see the numbers of InnoDB's tables: a table is copied again after each ALTER, and one that is emptied \
                while the log has a filter is not noticed.
                """,
                state.grant("PROCESS")
            )
        },
        { state in
            guard let seconds = retention(state), seconds > 0, seconds < 86_400 else { return nil }
            return .warning(
                .mysqlLogPurged,
                """
                The server deletes its log after \(seconds) s (binlog_expire_logs_seconds): when the service is stopped or behind for \
                longer, all tables are copied again.
                """,
                state.mending("binlog_expire_logs_seconds", "604800")
            )
        },
        { state in
            let sync = state.setting("sync_binlog") ?? "1"
            let flush = state.setting("innodb_flush_log_at_trx_commit") ?? "1"
            guard sync != "1" || flush != "1", !state.isRDS, !state.isCloudSQL else { return nil }
            return .warning(
                .mysqlPositionLost,
                """
                sync_binlog is \(sync) and innodb_flush_log_at_trx_commit is \(flush): when the machine of the server crashes, the end \
                of the log can be lost, and all tables are copied again.
                """,
                sync != "1" ? state.mending("sync_binlog", "1") : state.mending("innodb_flush_log_at_trx_commit", "1")
            )
        },
    ]

    /// Whether events of rows do not have all columns.
    private static func isIncomplete(_ image: String) -> Bool { image == "MINIMAL" || image == "NOBLOB" }

    /// The time after which the log is deleted, in seconds; 0 for never, `nil` when it is not known.
    private static func retention(_ state: MySQLServerState) -> Int? {
        if let seconds = state.variables["binlog_expire_logs_seconds"].flatMap({ Int($0) }), seconds > 0 {
            return seconds
        }
        return state.variables["expire_logs_days"].flatMap { Double($0) }.map { Int($0 * 86_400) }
    }

    /// The statements from one mode of GTIDs to the last, each when the one before has taken effect.
    private static func gtidSteps(from mode: String, _ consistency: String) -> String {
        var steps: [String] = []
        if consistency != "ON", consistency != "1" {
            if consistency == "OFF" || consistency == "0" {
                steps.append("SET PERSIST enforce_gtid_consistency = WARN; and look at the server's log for a while;")
            }
            steps.append("SET PERSIST enforce_gtid_consistency = ON;")
        }
        let modes = ["OFF", "OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"]
        for next in modes.drop(while: { $0 != mode }).dropFirst() {
            if next == "ON" {
                steps.append("wait until SHOW STATUS LIKE 'Ongoing_anonymous_transaction_count' is 0;")
            }
            steps.append("SET PERSIST gtid_mode = \(next);")
        }
        return steps.joined(separator: " ")
    }
}

extension MySQLServerState {
    /// Why the server cannot be read whatever its settings are; `nil` when it can.
    var kindFinding: Finding? {
        let names = "\(version) \(comment)"
        if let other = ["TiDB", "Vitess", "PlanetScale", "OceanBase"].first(where: { names.contains($0) }) {
            return .error(
                .mysqlServer,
                "\(other) speaks the protocol of MySQL, and has no binary log.",
                "Replicate a server of MySQL or MariaDB."
            )
        }
        let isNewEnough = isMariaDB ? isVersion(10, 6) : isVersion(8, 0, 13)
        guard !isNewEnough else { return nil }
        return .error(
            .mysqlServer,
            "\(isMariaDB ? "MariaDB" : "MySQL") \(version) is too old: \(isMariaDB ? "10.6" : "8.0.13") is needed.",
            "Upgrade the server."
        )
    }
}

extension Finding {
    /// Nothing can be replicated.
    static func error(_ code: ErrorCode, _ message: String, _ remedy: String?) -> Finding {
        Finding(.error, .source, code: code, message, remedy: remedy)
    }

    /// Something is left out, or will be one day.
    static func warning(_ code: ErrorCode?, _ message: String, _ remedy: String?) -> Finding {
        Finding(.warning, .source, code: code, message, remedy: remedy)
    }

    /// The same about a table.
    func about(_ table: SourceTableName) -> Finding {
        var finding = self
        finding.place.table = table
        return finding
    }
}
