import Foundation
import GRDB
import PowerSyncCore

/// A database file in a temporary folder, set up as the SDK does.
final class TemporaryDatabase {
    /// The pool, as the SDK opens it.
    let pool: DatabasePool
    private let folder: URL

    /// The client schema of all benchmarks: two tables, one index (design 6).
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

    /// Creates the file with system tables and views.
    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "powersync-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try ConnectionSetUp.prepare(db)
        }
        pool = try DatabasePool(path: folder.appending(path: "bench.db").path, configuration: configuration)
        try pool.write { db in
            try SystemTables.migrate(db)
            try Self.schema.apply(to: db)
        }
    }

    deinit {
        try? pool.close()
        try? FileManager.default.removeItem(at: folder)
    }
}
