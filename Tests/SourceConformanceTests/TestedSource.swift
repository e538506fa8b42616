import Foundation
import GRDB
import Logging
import MySQLTestSupport
import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceMySQL
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// The sources that have to pass the conformance suite.
enum SourceKind: String, CaseIterable, CustomTestStringConvertible {
    case model, embedded, postgres, mysql

    /// Those that are tested: of `POWERSYNC_TESTED_SOURCES`, names with commas between them, all if it is not set.
    static let allCases: [SourceKind] = {
        let all: [SourceKind] = [.model, .embedded, .postgres, .mysql]
        guard let names = ProcessInfo.processInfo.environment["POWERSYNC_TESTED_SOURCES"]?.split(separator: ",") else {
            return all
        }
        return all.filter { names.contains(Substring($0.rawValue)) }
    }()

    /// Those whose changes may be incomplete.
    static let readingRows = allCases.filter { $0 != .embedded }

    var testDescription: String { rawValue }
}

/// A source with a table `items (id, name, body)`, and what others do to it.
struct TestedSource: Sendable {
    /// A copy of everything that the source has.
    enum Backup: Sendable {
        case model(ModelSource.Content)
        case file(String)
        case database(TestDatabase.Backup)
        /// The server keeps its files itself.
        case server
    }

    static let columns = ["id", "name", "body"]

    let source: any ReplicationSource
    let plan: SyncPlan
    /// The name of the stream that is followed.
    let slot: String
    private let folder: TemporaryFolder
    private let database: TestDatabase?
    private let mysql: TestMySQLDatabase?
    /// The server of ``mysql``, if that has one of its own.
    private let server: TestMySQLServer?

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - kind: Its kind.
    ///   - isRestored: Whether backups of it are made.
    /// - Throws: When there is no server.
    init(_ kind: SourceKind, isRestored: Bool = false) async throws {
        folder = try TemporaryFolder()
        plan = try ServiceTestSupport.plan(
            "config: {edition: 3}\nstreams: {all: {queries: [SELECT * FROM items, SELECT * FROM others]}}"
        )
        server = kind == .mysql && isRestored ? try await TestMySQLServer() : nil
        mysql =
            kind == .mysql
            ? try await TestMySQLDatabase(
                server: server?.address,
                MySQLRows.createTable("items", columns: Self.columns)
            ) : nil
        switch kind {
        case .model:
            let model = ModelSource(largeColumns: ["body"], pageLength: 1000)
            model.alter(.create("items", columns: Self.columns))
            source = model
            database = nil
        case .embedded:
            source = try Self.open(folder, schema: ["CREATE TABLE items (id TEXT PRIMARY KEY, name, body)"])
            database = nil
        case .postgres:
            let database = try TestDatabase(PostgresRows.createTable("items", columns: Self.columns))
            source = Self.open(database)
            self.database = database
        case .mysql:
            source = Self.open(try #require(mysql))
            database = nil
        }
        slot = (database?.name ?? mysql?.name).map { "slot_\($0)" } ?? "slot"
    }

    private init(_ other: TestedSource, _ source: any ReplicationSource) {
        self.source = source
        plan = other.plan
        slot = other.slot
        folder = other.folder
        database = other.database
        mysql = other.mysql
        server = other.server
    }

    private static func open(_ database: TestMySQLDatabase) -> MySQLSource {
        MySQLSource(
            MySQLSettings(uri: database.uri),
            connecting: database.settings,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private static func open(_ database: TestDatabase) -> PostgresSource {
        PostgresSource(
            PostgresSource.Settings(connection: database.connectionString),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private static func open(_ folder: TemporaryFolder, schema: [String]) throws -> EmbeddedSource {
        try EmbeddedSource(
            path: folder.path("source.db"),
            schema: schema,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    // MARK: Writing

    /// Writes a transaction.
    func write(_ writes: RowWrite...) async throws {
        try await write(writes)
    }

    /// Writes a transaction.
    func write(_ writes: [RowWrite]) async throws {
        switch source {
        case let model as ModelSource: model.write(writes)
        case is PostgresSource: try database?.run(PostgresRows.transaction(writes))
        case is MySQLSource:
            let tables = Set(try await mysql?.run("SHOW TABLES").compactMap { $0[0] } ?? [])
            try await mysql?.run(MySQLRows.transaction(writes.filter { tables.contains($0.table) }))
        default:
            try await run { db in
                for write in writes where try db.tableExists(write.table) { try write.run(db) }
            }
        }
    }

    /// Changes the tables.
    func alter(_ change: TableChange) async throws {
        switch source {
        case let model as ModelSource: model.alter(change)
        case is PostgresSource: try database?.run(PostgresRows.statement(change))
        case is MySQLSource: try await mysql?.run(MySQLRows.statement(change))
        default:
            try await run { db in
                switch change {
                case .create(let name, let columns):
                    let rest = columns.dropFirst().map { ", \($0)" }.joined()
                    try db.execute(sql: "CREATE TABLE \(name) (id TEXT PRIMARY KEY\(rest))")
                case .drop(let name): try db.execute(sql: "DROP TABLE \(name)")
                case .addColumn(let column, let name): try db.execute(sql: "ALTER TABLE \(name) ADD COLUMN \(column)")
                }
            }
        }
    }

    private func run(_ body: @escaping @Sendable (Database) throws -> Void) async throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        let connection = try DatabaseQueue(path: folder.path("source.db"), configuration: configuration)
        try await connection.write(body)
        try connection.close()
        // Spares the test the polling interval.
        (source as? EmbeddedSource)?.signal.advance()
    }

    // MARK: Lives

    func backUp() async throws -> Backup {
        if let server {
            try await server.keepFiles()
            return .server
        }
        if let model = source as? ModelSource { return .model(model.content) }
        if let database { return .database(try database.backUp()) }
        let path = folder.path("backup \(UUID().uuidString).db")
        let backup = try DatabaseQueue(path: path)
        try (source as? EmbeddedSource)?.pool.backup(to: backup)
        try backup.close()
        return .file(path)
    }

    /// Puts a backup in the place of the source that is running.
    func restore(_ backup: Backup) async throws {
        switch backup {
        case .model(let content): (source as? ModelSource)?.restore(content)
        case .database(let backup): try database?.restore(backup)
        case .server: try await server?.putFilesBack()
        case .file(let path):
            let origin = try DatabaseQueue(path: path)
            let destination = try DatabaseQueue(path: folder.path("source.db"))
            try origin.backup(to: destination)
            try destination.close()
            (source as? EmbeddedSource)?.signal.advance()
        }
    }

    /// The source after a restart, with a backup in its place if there is one.
    func restarted(with backup: Backup? = nil) async throws -> TestedSource {
        if source is ModelSource {
            if let backup { try await restore(backup) }
            return self
        }
        try source.close()
        if let database {
            if let backup { try await restore(backup) }
            return TestedSource(self, Self.open(database))
        }
        if let mysql {
            if let backup { try await restore(backup) }
            return TestedSource(self, Self.open(mysql))
        }
        if case .file(let path)? = backup {
            let file = folder.path("source.db")
            for file in [file, file + "-wal", file + "-shm"] { try? FileManager.default.removeItem(atPath: file) }
            try FileManager.default.copyItem(atPath: path, toPath: file)
        }
        return TestedSource(self, try Self.open(folder, schema: []))
    }

    // MARK: Looking

    /// The rows that the source has now, of all tables.
    func rows() async throws -> Set<SourceRow> {
        var rows: Set<SourceRow> = []
        for table in try await source.tables(for: plan) {
            var reader = try await source.snapshot(of: table, after: nil)
            while let chunk = try await reader.next() { rows.formUnion(chunk.rows) }
        }
        return rows
    }
}

extension RowWrite {
    /// Writes to a SQLite file.
    fileprivate func run(_ db: Database) throws {
        func execute(_ sql: String, _ values: [SQLValue]) throws {
            try db.execute(sql: sql, arguments: StatementArguments(values.map(\.databaseValue)))
        }
        switch self {
        case .insert(let table, let id, let values):
            let names = ["id"] + values.keys
            let placeholders = names.map { _ in "?" }.joined(separator: ", ")
            try execute(
                "INSERT OR IGNORE INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(placeholders))",
                [.text(id)] + values.values
            )
        case .update(let table, let id, let values):
            let assignments = values.keys.map { "\($0) = ?" }.joined(separator: ", ")
            try execute(
                "UPDATE OR IGNORE \(table) SET \(assignments) WHERE id = ?",
                Array(values.values) + [.text(id)]
            )
        case .delete(let table, let id): try execute("DELETE FROM \(table) WHERE id = ?", [.text(id)])
        case .truncate(let table): try db.execute(sql: "DELETE FROM \(table)")
        }
    }
}

extension SQLValue {
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let integer): integer.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
