package import GRDB
import PowerSyncProtocol

/// The internal tables of a database file and their versions (docs/database.md "Internal tables").
///
/// ``SystemTables/layout`` lists the tables of the current version with the meaning of every column.
package enum SystemTables {
    /// The internal schema version that this library reads and writes.
    package static let currentVersion = 14
    /// The level of the format that this library implements, in the form `<version>/<8 hexadecimal digits>`.
    ///
    /// The digits are a commit in other implementations.
    static let formatLevel = "0.5.3/00000000"

    /// Brings a file to the current version.
    ///
    /// A fresh file gets the tables in their final shape. A file of an older version is upgraded step by step, see
    /// ``UpMigrations``; the client schema has to be applied afterwards, since the views of the file may have triggers of
    /// the old version, or none. A file of a newer implementation is taken back by the statements stored in it. A file of
    /// the current version is left alone.
    ///
    /// Call it inside a write transaction, on a connection on which ``SQLFunctions/install(on:)`` was called: stored
    /// triggers mention our functions and virtual tables, and SQLite parses them when a table is altered. Roll the
    /// transaction back after an error: the file is then as it was.
    ///
    /// - Throws: ``LocalDatabaseError`` when no transaction is open, or when the way back from a newer version fails; GRDB's
    ///   `DatabaseError` for everything that SQLite reports.
    package static func migrate(_ db: Database) throws {
        try migrate(db, to: currentVersion)
        // Habit of all implementations: a database that was opened once has user_version 1 or more.
        if try Int.fetchOne(db, sql: "PRAGMA user_version") == 0 {
            try db.execute(sql: "PRAGMA user_version = 1")
        }
    }

    /// Goes to any version, 1 … 14, so that tests can go to older ones.
    static func migrate(_ db: Database, to target: Int) throws {
        guard db.isInsideTransaction else { throw LocalDatabaseError.notInTransaction }
        if try !migrationTableExists(db) {
            try db.execute(sql: migrationTable)
        }
        var version = try readVersion(db)
        while version > target {
            version = try goBack(db, from: version, target: target)
        }
        if version < 1, target == currentVersion {
            try create(db)
        } else if version < target {
            try UpMigrations.run(db, from: version, to: target)
        }
        if target == currentVersion {
            try OplogIndexes.repair(db)
        }
    }

    /// Asks for this one table: GRDB's own check would read the names of all objects first.
    private static func migrationTableExists(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ps_migration')"
        ) ?? false
    }

    private static func readVersion(_ db: Database) throws -> Int {
        let row = try Row.fetchOne(db, sql: "SELECT ifnull(max(id), 0) FROM ps_migration")
        return try row?.stored(0, "ps_migration.id") ?? 0
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
            try recordVersion(db, version)
        }
    }

    /// Notes that the file has a version, and how older implementations get back from it.
    static func recordVersion(_ db: Database, _ version: Int) throws {
        let steps = DownMigrations.statements(from: version)
        let payload: ExactJSON = .array(steps.map { ["sql": .string($0)] })
        try db.execute(
            sql: "INSERT INTO ps_migration(id, down_migrations) VALUES (?, ?)",
            arguments: [version, steps.isEmpty ? nil : payload.text]
        )
    }

    /// Runs the stored statements of the newest version and returns the version that they lead to.
    private static func goBack(_ db: Database, from version: Int, target: Int) throws -> Int {
        let reached: Int
        do {
            // All texts are read before the first one runs: they delete rows of this table. What is no text is ignored.
            let steps = try String.fetchAll(
                db,
                sql: """
                    SELECT step.value ->> 'sql' FROM ps_migration, json_each(ps_migration.down_migrations) AS step
                    WHERE ps_migration.id = (SELECT max(id) FROM ps_migration WHERE id > ?)
                      AND typeof(step.value ->> 'sql') = 'text'
                    ORDER BY step.key
                    """,
                arguments: [target]
            )
            for sql in steps {
                try db.execute(sql: sql)
            }
            reached = try readVersion(db)
        } catch {
            throw LocalDatabaseError(
                .downMigrationFailed,
                "Down migration failed from \(version) to \(target)",
                underlyingError: error
            )
        }
        guard reached < version else {
            throw LocalDatabaseError(
                .downMigrationFailed,
                """
                Down migration failed - version not updated from \(version). The file was written by a newer \
                implementation and does not say how to get back to version \(target), which this library needs.
                """
            )
        }
        return reached
    }
}
