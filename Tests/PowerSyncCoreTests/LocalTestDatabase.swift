import Foundation
import GRDB
import GRDBSQLite
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// A migrated database with a client schema, in memory.
struct LocalTestDatabase {
    let queue: DatabaseQueue

    /// Opens a database.
    ///
    /// The schema is `items(col text)` unless said otherwise.
    init(_ tables: ClientTable..., configuration: Configuration = Configuration()) throws {
        try self.init(schema: ClientSchema(tables: tables.isEmpty ? [.items()] : tables), configuration: configuration)
    }

    init(schema: ClientSchema, configuration: Configuration = Configuration()) throws {
        queue = try DatabaseQueue(configuration: configuration.forPowerSync())
        // Copying pages is much faster than creating tables.
        try Self.migrated.get().backup(to: queue)
        try queue.write { try schema.apply(to: $0) }
    }

    /// A migrated database without a schema; all that are copied from it have one client id.
    private static let migrated = Result {
        let queue = try DatabaseQueue(configuration: Configuration().forPowerSync())
        try queue.write { try SystemTables.migrate($0) }
        return queue
    }

    /// The encodings that SQLite has.
    static let encodings = ["UTF-8", "UTF-16le", "UTF-16be"]

    /// A new database with one of ``encodings``, which its first statement has to say.
    init(_ tables: ClientTable..., encoding: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA encoding = '\(encoding)'") }
        queue = try DatabaseQueue(configuration: configuration.forPowerSync())
        try apply(ClientSchema(tables: tables))
    }

    /// Opens a file with the schema `items(col text)`.
    init(itemsIn path: String) throws {
        queue = try DatabaseQueue(path: path, configuration: Configuration().forPowerSync())
        try apply(ClientSchema(tables: [.items()]))
    }

    /// Migrates, then applies a schema, in one transaction.
    func apply(_ schema: ClientSchema) throws {
        try queue.write { db in
            try SystemTables.migrate(db)
            try schema.apply(to: db)
        }
    }

    func apply(_ tables: ClientTable...) throws {
        try apply(ClientSchema(tables: tables))
    }

    /// Runs statements in one transaction.
    func write(_ sql: String, _ arguments: StatementArguments = []) throws {
        try queue.write { try $0.execute(sql: sql, arguments: arguments) }
    }

    /// Runs statements as they are, each in its own transaction unless they say otherwise.
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try queue.writeWithoutTransaction { try $0.execute(sql: sql, arguments: arguments) }
    }

    /// Lowers how long a text may be, in bytes, as apps do that run SQL of others.
    func limitLength(to byteCount: CInt) {
        queue.writeWithoutTransaction { db in
            _ = sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, byteCount)
        }
    }

    /// The first column of the rows that a query returns.
    func texts(_ sql: String, _ arguments: StatementArguments = []) throws -> [String?] {
        try look(sql) { try String?.fetchAll($0, arguments: arguments) }
    }

    func integer(_ sql: String) throws -> Int64? {
        try look(sql) { try Int64.fetchOne($0) }
    }

    /// Rows as text, columns separated by `|`, NULL as empty text.
    func rows(_ sql: String) throws -> [String] {
        try look(sql) { statement in
            try Row.fetchAll(statement).map { row in
                row.databaseValues.map { $0.isNull ? "" : String.fromDatabaseValue($0) ?? "\($0)" }
                    .joined(separator: "|")
            }
        }
    }

    /// Runs a query that was prepared before, if it was, without what makes `read` safe and slow.
    private func look<Result>(_ sql: String, _ body: (Statement) throws -> Result) throws -> Result {
        try queue.unsafeRead { db in
            // GRDB takes texts for equal that differ in composed and decomposed letters.
            let isUnmistakable = sql.utf8.allSatisfy { $0 < 0x80 }
            return try body(isUnmistakable ? db.cachedStatement(sql: sql) : db.makeStatement(sql: sql))
        }
    }

    /// The texts in the upload queue.
    func entries() throws -> [String?] {
        try texts("SELECT data FROM ps_crud ORDER BY id")
    }

    /// The transaction ids in the upload queue.
    func transactionIDs() throws -> [Int64] {
        try look("SELECT tx_id FROM ps_crud ORDER BY id") { try Int64.fetchAll($0) }
    }

    /// The number that changes with every change of the database's schema.
    func schemaVersion() throws -> Int64? {
        try integer("PRAGMA schema_version")
    }

    /// `type|name` of every object.
    func objects() throws -> [String] {
        try rows("SELECT type, name FROM sqlite_master ORDER BY type, name")
    }
}

/// Expects that a closure throws a SQLite error with a code, and with some words in its message.
func expectDatabaseError(
    _ code: Int32,
    _ words: String...,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    let error = #expect(throws: DatabaseError.self, sourceLocation: sourceLocation) { try body() }
    guard let error else { return }
    #expect(error.extendedResultCode.rawValue == code, "\(error)", sourceLocation: sourceLocation)
    for words in words {
        #expect(error.message?.contains(words) == true, "\(error)", sourceLocation: sourceLocation)
    }
}
