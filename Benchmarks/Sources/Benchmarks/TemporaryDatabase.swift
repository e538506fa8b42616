import Foundation
import GRDB
import PowerSyncCore

/// A database file in a temporary folder, set up as the SDK does.
final class TemporaryDatabase {
    /// The pool, as the SDK opens it.
    let pool: DatabasePool
    /// The path of the file.
    var path: String { folder.path }
    private let folder: TemporaryFolder

    /// The client schema of most benchmarks: two tables, one index (design 6).
    static let schema = ClientSchema(tables: [
        ClientTable(
            name: "lists",
            columns: [.init(name: "owner", type: .text), .init(name: "number", type: .integer)]
                + [.init(name: "title", type: .text), .init(name: "done", type: .integer)]
        ),
        ClientTable(
            name: "todos",
            columns: [.init(name: "owner", type: .text), .init(name: "number", type: .integer)]
                + [.init(name: "title", type: .text), .init(name: "done", type: .integer)],
            indexes: [.init(name: "by_owner", columns: [.init(name: "owner", isDescending: false)])]
        ),
    ])

    /// Creates the file with system tables and the views of a schema.
    ///
    /// - Parameters:
    ///   - schema: The schema.
    ///   - key: The statement that gives a connection its key; `nil` for a file without one.
    /// - Throws: `DatabaseError` of SQLite.
    init(schema: ClientSchema = TemporaryDatabase.schema, key: String? = nil) throws {
        folder = try TemporaryFolder()
        pool = try Self.open(folder.path, key: key)
        try pool.write { db in
            try SystemTables.migrate(db)
            try schema.apply(to: db)
        }
    }

    /// Opens a file as the SDK does, without touching its tables.
    static func open(_ path: String, key: String? = nil) throws -> DatabasePool {
        var configuration = Configuration()
        if let key { configuration.prepareDatabase { db in try db.execute(sql: key) } }
        ConnectionSetUp.apply(to: &configuration)
        return try DatabasePool(path: path, configuration: configuration)
    }

    /// A second connection to the file, for floors.
    func plain() throws -> PlainDatabase {
        try PlainDatabase(path: path)
    }

    deinit {
        try? pool.close()
    }
}

/// A folder for one database file, which goes with this object.
final class TemporaryFolder {
    private let url: URL

    /// The path of the file.
    var path: String { url.appending(path: "bench.db").path }
    /// The path of the folder, for other files.
    var folderPath: String { url.path }

    /// Creates the folder.
    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "powersync-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }
}
