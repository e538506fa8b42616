package import GRDB
import PowerSyncProtocol

/// The internal tables of a database file and their versions (`database.md` 3 and 5).
///
/// ``SystemTables/layout`` lists the tables of the current version with the meaning of every column.
package enum SystemTables {
    /// The internal schema version that this library reads and writes.
    package static let currentVersion = 14

    /// Brings a file to the current version.
    ///
    /// A fresh file gets the tables in their final shape. A file of a newer implementation is taken back by the
    /// statements stored in it. A file of the current version is left alone.
    ///
    /// Call it inside a write transaction, on a connection on which ``SQLFunctions/install(on:)`` was called: stored
    /// triggers mention our functions and virtual tables, and SQLite parses them when a table is altered.
    ///
    /// - Throws: ``LocalDatabaseError`` when no transaction is open, when the file has a version between 1 and 13, or
    ///   when the way back from a newer version fails; GRDB's `DatabaseError` for everything that SQLite reports.
    package static func migrate(_ db: Database) throws {
        try migrate(db, to: currentVersion)
        // Habit of all implementations: a database that was opened once has user_version 1 or more.
        if try Int.fetchOne(db, sql: "PRAGMA user_version") == 0 {
            try db.execute(sql: "PRAGMA user_version = 1")
        }
    }

    /// The algorithm of `database.md` 5.2, with a target version so that tests can go back.
    static func migrate(_ db: Database, to target: Int) throws {
        guard db.isInsideTransaction else { throw LocalDatabaseError.notInTransaction }
        if try !db.tableExists("ps_migration") {
            try db.execute(sql: migrationTable)
        }
        var version = try readVersion(db)
        while version > target {
            version = try goBack(db, from: version, target: target)
        }
        switch version {
        case target:
            if version == currentVersion {
                try OplogIndexes.ensureExist(db)
            }
        case 0 where target == currentVersion:
            try create(db)
        default:
            throw LocalDatabaseError(
                .unsupportedVersion,
                """
                The database file has internal schema version \(version). Upgrading versions 1 to 13 is not supported \
                yet: open it once with an implementation that writes version \(target), or start from a new file.
                """
            )
        }
    }

    private static func readVersion(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT ifnull(max(id), 0) FROM ps_migration") ?? 0
    }

    private static func create(_ db: Database) throws {
        for sql in layout {
            try db.execute(sql: sql)
        }
        try db.execute(
            sql: "INSERT INTO ps_kv(key, value) VALUES (?, uuid())",
            arguments: [KeyValueStore.Key.clientID.rawValue]
        )
        for version in 1...currentVersion {
            let steps = DownMigrations.statements(from: version)
            let payload: JSONValue = .array(steps.map { ["sql": .string($0)] })
            try db.execute(
                sql: "INSERT INTO ps_migration(id, down_migrations) VALUES (?, ?)",
                arguments: [version, steps.isEmpty ? nil : payload.text]
            )
        }
    }

    /// Runs the stored statements of the newest version and returns the version that they lead to.
    private static func goBack(_ db: Database, from version: Int, target: Int) throws -> Int {
        let reached: Int
        do {
            // All texts are read before the first one runs: they delete rows of this table.
            let steps = try String?.fetchAll(
                db,
                sql: """
                    SELECT step.value ->> 'sql' FROM ps_migration, json_each(ps_migration.down_migrations) AS step
                    WHERE ps_migration.id = (SELECT max(id) FROM ps_migration WHERE id > ?)
                    ORDER BY step.key
                    """,
                arguments: [target]
            )
            for case let sql? in steps {
                try db.execute(sql: sql)
            }
            reached = try readVersion(db)
        } catch {
            throw LocalDatabaseError(
                .downMigrationFailed,
                "Down migration failed from \(version)",
                underlyingError: error
            )
        }
        guard reached < version else {
            throw LocalDatabaseError(
                .downMigrationFailed,
                "Down migration failed - version not updated from \(version)"
            )
        }
        return reached
    }
}
