import GRDB
import PowerSyncProtocol

/// Writes synced rows to the tables behind the views (`sync-client.md` 9.4, `database.md` 20).
///
/// The destination of a row follows from its type:
///
/// | Destination | When | Row |
/// | --- | --- | --- |
/// | `ps_data__<type>` | the table exists | `(id, data)` |
/// | `ps_untyped` | otherwise | `(type, id, data)` |
///
/// Rows arrive ordered by type, so that the statements of the last type are kept at hand. A row is written with
/// REPLACE, never with an update, since triggers of users on these tables expect insertions.
struct RowPublisher {
    private let db: Database
    private var current: (type: [UInt8], destination: Destination)?
    private var touched: Set<Destination.Region> = []

    /// Publishes rows and announces the changed tables to GRDB's observers.
    ///
    /// The flag of ``Publishing`` is set meanwhile, so that nothing of it becomes a local write.
    static func publish(_ rows: ChangedRows, _ db: Database) throws {
        try Publishing.whilePublishing(db) {
            var publisher = RowPublisher(db: db)
            try rows.forEach(db) { type, id, data in
                try publisher.destination(for: type).write(type: type, id: id, data: data)
            }
            try publisher.announce()
        }
    }

    private init(db: Database) {
        self.db = db
    }

    private mutating func destination(for type: UnsafeRawBufferPointer) throws -> Destination {
        if let current, current.type.elementsEqual(type) { return current.destination }
        let destination = try Destination(type: String(decoding: type, as: UTF8.self), db)
        touched.insert(destination.region)
        current = (Array(type), destination)
        return destination
    }

    /// GRDB does not see statements that are stepped by hand.
    private func announce() throws {
        for region in touched {
            switch region {
            case .table(let name): try db.notifyChanges(in: Table(name))
            case .unknown: try db.notifyChanges(in: .fullDatabase)
            }
        }
    }
}

extension RowPublisher {
    /// Where the rows of one type go.
    ///
    /// Raw tables of the client schema will be another kind.
    private struct Destination {
        /// What changes with the rows.
        enum Region: Hashable {
            case table(String)
            /// The table has triggers of the user, which may write anywhere.
            case unknown
        }

        let region: Region
        private let replace: RawStatement
        private let delete: RawStatement
        private let isUntyped: Bool

        init(type: String, _ db: Database) throws {
            let dataTable = DataTable(name: type, isLocalOnly: false).internalName
            isUntyped = try !Self.tableExists(dataTable, db)
            let table = isUntyped ? "ps_untyped" : dataTable
            region = try Self.hasTriggers(table, db) ? .unknown : .table(table)
            let name = SQLText.identifier(table)
            if isUntyped {
                replace = try RawStatement(db, sql: "REPLACE INTO \(name) (id, data, type) VALUES (?1, ?2, ?3)")
                delete = try RawStatement(db, sql: "DELETE FROM \(name) WHERE id = ?1 AND type = ?2")
            } else {
                replace = try RawStatement(db, sql: "REPLACE INTO \(name) (id, data) VALUES (?1, ?2)")
                delete = try RawStatement(db, sql: "DELETE FROM \(name) WHERE id = ?1")
            }
        }

        func write(
            type: UnsafeRawBufferPointer,
            id: UnsafeRawBufferPointer,
            data: UnsafeRawBufferPointer?
        ) throws {
            if let data {
                replace.bind(id, at: 1)
                replace.bind(data, at: 2)
                if isUntyped { replace.bind(type, at: 3) }
                try replace.run()
            } else {
                delete.bind(id, at: 1)
                if isUntyped { delete.bind(type, at: 2) }
                try delete.run()
            }
        }

        /// Asks the database and not the schema in memory; the name is compared byte by byte.
        private static func tableExists(_ name: String, _ db: Database) throws -> Bool {
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)"
                ),
                arguments: [name]
            ) ?? false
        }

        private static func hasTriggers(_ table: String, _ db: Database) throws -> Bool {
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT EXISTS (
                            SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
                        ) OR EXISTS (
                            SELECT 1 FROM sqlite_temp_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
                            AND name NOT GLOB '\(TableDiffRecording.namePrefix)*'
                        )
                        """
                ),
                arguments: [table]
            ) ?? false
        }
    }
}
