import GRDB
import PowerSyncSQLite

@testable import PowerSyncCore

/// An older implementation that opens a file of ours: it runs the stored ways back, and has none of our functions and
/// virtual tables except `powersync_drop_view`.
struct OlderImplementation {
    private let queue: DatabaseQueue

    init(path: String) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            let connection = Connection(db)
            db.add(
                function: DatabaseFunction("powersync_drop_view", argumentCount: 1) { values in
                    let name = String.fromDatabaseValue(values[0]) ?? ""
                    try connection.db?.execute(sql: "DROP VIEW IF EXISTS \(SQLText.identifier(name))")
                    return nil
                }
            )
        }
        queue = try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Takes the file to the version of this implementation, and returns what it finds then.
    func open(at version: Int) throws -> FileShape {
        try queue.write { db in
            while let newest = try Int.fetchOne(db, sql: "SELECT max(id) FROM ps_migration"), newest > version {
                let steps = try String.fetchAll(
                    db,
                    sql: """
                        SELECT step.value ->> 'sql' FROM ps_migration, json_each(down_migrations) AS step
                        WHERE ps_migration.id = ?
                        """,
                    arguments: [newest]
                )
                for sql in steps { try db.execute(sql: sql) }
            }
            return try FileShape(db)
        }
    }

    func write(_ sql: String) throws {
        try queue.write { try $0.execute(sql: sql) }
    }

    func close() throws {
        try queue.close()
    }

    /// `@unchecked Sendable`: the function is only called while its connection is used.
    private final class Connection: @unchecked Sendable {
        private(set) weak var db: Database?

        init(_ db: Database) {
            self.db = db
        }
    }
}
