import Foundation
import GRDB
import PowerSyncCore
import PowerSyncSQLite

/// Reads a client's database file of any version, whatever is in it (docs/database.md "Internal tables").
///
/// Nothing that is missing or cannot be read ends an inspection: it becomes a line of the report.
struct Inspection {
    /// How many writes of the upload queue the report has.
    static let shownWrites = 20
    /// How many values of wrong types are named.
    static let shownProblems = 20
    /// How many problems SQLite's check tells.
    static let shownSQLiteProblems = 20

    let connection: ReadOnlyConnection
    /// Whether the report has rows of the upload queue as they are stored.
    let showsRows: Bool
    /// What was found so far.
    var report: DatabaseReport
    /// The columns of the internal tables that exist.
    private var columns: [String: Set<String>] = [:]

    var version: Int { report.schemaVersion }

    /// Inspects a file.
    ///
    /// - Parameters:
    ///   - file: The file.
    ///   - showsRows: Whether the report has rows of the upload queue as they are stored.
    ///   - now: The time, for subscriptions that have expired.
    /// - Returns: The report with all findings.
    /// - Throws: ``ClientFileError`` when the file is no database of a client, newer than this library, or in use.
    static func report(of file: ClientFile, showsRows: Bool = false, now: Date = Date()) throws -> DatabaseReport {
        try file.read { connection in
            var inspection = try Inspection(connection, file, showsRows: showsRows, now: now)
            inspection.readAll()
            inspection.report.addFindings()
            return inspection.report
        }
    }

    private init(_ connection: ReadOnlyConnection, _ file: ClientFile, showsRows: Bool, now: Date) throws {
        self.connection = connection
        self.showsRows = showsRows
        report = DatabaseReport(
            inspectedAt: now,
            file: DatabaseReport.File(path: file.path, bytes: file.size, logBytes: file.logSize),
            schemaVersion: try Self.version(connection, path: file.path)
        )
    }

    private static func version(_ connection: ReadOnlyConnection, path: String) throws -> Int {
        let exists = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'ps_migration'"
        guard try connection.integer(exists) == 1 else {
            throw ClientFileError(
                .notPowerSync,
                "\(path) is an SQLite database, but not of a PowerSync client: it has no table ps_migration"
            )
        }
        let version: Int64?
        do {
            version = try connection.integer("SELECT max(id) FROM ps_migration")
        } catch {
            throw ClientFileError(.unreadable, "The table ps_migration of \(path) cannot be read: \(error)")
        }
        guard let version, version > 0 else {
            throw ClientFileError(
                .notPowerSync,
                "\(path) has no internal schema version: ps_migration has no rows. Open it with the app, which makes the tables"
            )
        }
        guard version <= SystemTables.currentVersion else {
            throw ClientFileError(
                .newerVersion,
                """
                \(path) has the internal schema version \(version), and this command knows versions up to \
                \(SystemTables.currentVersion). Use a newer one
                """
            )
        }
        return Int(version)
    }

    private mutating func readAll() {
        section("sqlite_master") { try $0.readObjects() }
        section("ps_kv") { try $0.readClientID() }
        section("ps_sync_state") { try $0.readSyncTimes() }
        section("ps_buckets") { try $0.readBuckets() }
        section("ps_oplog") { try $0.readOperations() }
        section("ps_updated_rows") { try $0.readUpdatedRows() }
        section("ps_crud") { try $0.readQueue() }
        section("powersync_swift_rejected_writes") { try $0.readRejectedWrites() }
        section("ps_kv") { try $0.readGate() }
        section("ps_stream_subscriptions") { try $0.readSubscriptions() }
        section("ps_untyped") { try $0.readUntypedRows() }
        readTables()
        section("PRAGMA integrity_check") { try $0.checkIntegrity() }
    }

    /// Runs a part; an error of it is a line of the report.
    mutating func section(_ name: String, _ read: (inout Inspection) throws -> Void) {
        do {
            try read(&self)
        } catch let error as DatabaseError {
            report.unreadable.append("\(name): \(error.message ?? "SQLite error \(error.extendedResultCode.rawValue)")")
        } catch {
            report.unreadable.append("\(name): \(error)")
        }
    }

    /// Whether a table exists.
    func has(_ table: String) -> Bool { columns[table] != nil }

    /// A column for a query, or NULL when the table does not have it.
    func column(_ name: String, of table: String) -> String {
        columns[table]?.contains(name) == true ? name : "NULL"
    }

    /// Notes a value of a wrong type.
    ///
    /// - Parameters:
    ///   - column: Table and column.
    ///   - key: What names the row.
    ///   - found: What is there.
    mutating func note(_ column: String, of key: String, holds found: String) {
        guard report.unreadable.count <= Self.shownProblems else { return }
        report.unreadable.append(
            report.unreadable.count == Self.shownProblems ? "and more" : "\(column) of \(key) holds \(found)"
        )
    }

    // MARK: - Tables and columns

    private mutating func readObjects() throws {
        var names: [String] = []
        try connection.forEachRow(
            """
            SELECT name FROM sqlite_master WHERE type = 'table'
            AND (name IN ('ps_migration', 'ps_buckets', 'ps_oplog', 'ps_untyped', 'ps_crud', 'ps_tx', 'ps_kv', 'ps_updated_rows',
              'ps_sync_state', 'ps_stream_subscriptions') OR name GLOB 'powersync_swift_*')
            """
        ) { row in row.string(at: 0).map { names.append($0) } }
        for name in names {
            var found: Set<String> = []
            try connection.forEachRow("SELECT name FROM pragma_table_info(?1)", name) { row in
                row.string(at: 0).map { _ = found.insert($0) }
            }
            columns[name] = found
        }
        for table in RequiredTable.all(in: version) {
            guard let found = columns[table.name] else {
                report.missingObjects.append("table \(table.name)")
                continue
            }
            let missing = table.columns.filter { !found.contains($0) }
            report.missingObjects += missing.map { "column \(table.name).\($0)" }
            // A table without what every query needs is none.
            if !missing.isEmpty { columns[table.name] = nil }
        }
        if has("ps_tx"),
            try connection.integer("SELECT count(*) FROM ps_tx WHERE id = 1 AND typeof(next_tx) = 'integer'") != 1
        {
            note("ps_tx.next_tx", of: "row 1", holds: "no number, so local writes fail")
        }
    }

    // MARK: - SQLite's check

    /// Has SQLite check the file, table by table if one needs a collation or a function that only the app's connections have.
    ///
    /// SQLite reports that as `SQLITE_ERROR`. Damage is a row, or an error with a code of its own.
    private mutating func checkIntegrity() throws {
        do {
            report.sqliteProblems = try integrityProblems("\(Self.shownSQLiteProblems)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            report.sqliteProblems = try checkTables()
        }
    }

    /// Checks tables by themselves, and notes those that cannot be.
    ///
    /// The table of all tables is one of them: with it goes the list of free pages.
    private mutating func checkTables() throws -> [String] {
        var tables = ["sqlite_master"]
        try connection.forEachRow("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") { row in
            row.string(at: 0).map { tables.append($0) }
        }
        var problems: [String] = []
        for table in tables {
            do {
                problems += try integrityProblems(table)
            } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
                report.uncheckedTables.append("\(table): \(error.message ?? "SQLite error 1")")
            }
        }
        return Array(problems.prefix(Self.shownSQLiteProblems))
    }

    /// What `PRAGMA integrity_check` finds, with a number of problems to tell or the name of a table as its argument.
    private func integrityProblems(_ argument: String) throws -> [String] {
        var problems: [String] = []
        try connection.forEachRow("SELECT integrity_check FROM pragma_integrity_check(?1)", argument) { row in
            if let line = row.string(at: 0), line != "ok" { problems.append(line) }
        }
        return problems
    }
}

/// A table that a version has.
private struct RequiredTable {
    var name: String
    var columns: [String]

    /// The tables of a version, with the columns that are read.
    static func all(in version: Int) -> [RequiredTable] {
        var tables = [
            RequiredTable(
                name: "ps_buckets",
                columns: ["name", "last_applied_op", "last_op", "add_checksum", "pending_delete"]
                    + (version >= 4 ? ["op_checksum"] : []) + (version >= 5 ? ["id"] : [])
                    + (version < 14 ? ["target_op"] : [])
            ),
            RequiredTable(
                name: "ps_oplog",
                columns: ["bucket", "op_id", "row_type", "row_id", "key", "data", "hash"]
                    + (version < 5 ? ["op", "superseded"] : [])
            ),
            RequiredTable(name: "ps_untyped", columns: ["type", "id", "data"]),
            RequiredTable(name: "ps_crud", columns: ["id", "data"] + (version >= 2 ? ["tx_id"] : [])),
        ]
        if version >= 2 { tables.append(RequiredTable(name: "ps_tx", columns: ["id", "next_tx"])) }
        if version >= 3 { tables.append(RequiredTable(name: "ps_kv", columns: ["key", "value"])) }
        if version >= 5 { tables.append(RequiredTable(name: "ps_updated_rows", columns: ["row_type", "row_id"])) }
        if version >= 7 {
            tables.append(RequiredTable(name: "ps_sync_state", columns: ["priority", "last_synced_at"]))
        }
        if version >= 11 {
            tables.append(
                RequiredTable(
                    name: "ps_stream_subscriptions",
                    columns: [
                        "stream_name", "active", "is_default", "local_priority", "local_params", "ttl", "expires_at",
                        "last_synced_at",
                    ]
                )
            )
        }
        return tables
    }
}
