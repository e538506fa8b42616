import GRDB
import PowerSyncCore

/// Applying a schema of 100 tables with 8 columns and an index each: to an empty file, without a change, and with one
/// column that is new.
///
/// The floors run the statements that change something, with their texts at hand. Without a change there are none, so
/// there the floor reads the texts of what exists.
enum SchemaBenchmarks {
    /// Runs all cases.
    static func run() throws {
        let schema = Self.schema(columnsOfTable50: 8)
        let changed = Self.schema(columnsOfTable50: 9)
        let applied = try TemporaryDatabase(schema: schema)
        let texts = try texts(in: applied)

        Report.time(
            "schema.100_tables.first",
            ours: try Measurement.best(of: 5, prepare: { try TemporaryDatabase(schema: empty) }) { database in
                try database.pool.write { try schema.apply(to: $0) }
            },
            floors: [("the same statements", try floor(texts, on: empty))]
        )

        let plain = try applied.plain()
        let read = try plain.prepare("SELECT type, name, tbl_name, sql FROM sqlite_master")
        Report.time(
            "schema.100_tables.unchanged",
            ours: try Measurement.best(of: 20, prepare: {}) {
                try applied.pool.write { try schema.apply(to: $0) }
            },
            floors: [
                (
                    "reading the texts",
                    try Measurement.best(of: 20, prepare: {}) {
                        var bytes = 0
                        try read.run { bytes += $0.textLength(at: 3) }
                        precondition(bytes > 100_000, "read \(bytes) bytes")
                    }
                )
            ]
        )

        let view = try Self.texts(in: TemporaryDatabase(schema: changed)).filter { text in
            text.contains("\"table_50\"") && !text.hasPrefix("CREATE TABLE") && !text.hasPrefix("CREATE INDEX")
        }
        Report.time(
            "schema.100_tables.one_new_column",
            ours: try Measurement.best(of: 5, prepare: { try TemporaryDatabase(schema: schema) }) { database in
                try database.pool.write { try changed.apply(to: $0) }
            },
            floors: [("the same statements", try floor(["DROP VIEW table_50"] + view, on: schema))]
        )
    }

    private static let empty = ClientSchema(tables: [])

    private static func schema(columnsOfTable50: Int) -> ClientSchema {
        ClientSchema(
            tables: (0..<100).map { table in
                let types: [ColumnType] = [.text, .integer, .real]
                return ClientTable(
                    name: "table_\(table)",
                    columns: (0..<(table == 50 ? columnsOfTable50 : 8)).map { column in
                        ClientColumn(name: "column_\(column)", type: types[column % 3])
                    },
                    indexes: [ClientIndex(name: "by_column", columns: [.init(name: "column_0")])]
                )
            }
        )
    }

    /// What creates the objects of a schema, in the order of their creation.
    private static func texts(in database: TemporaryDatabase) throws -> [String] {
        try database.pool.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name GLOB '*table_[0-9]*' ORDER BY rowid"
            )
        }
    }

    private static func floor(_ texts: [String], on schema: ClientSchema) throws -> Measurement {
        try Measurement.best(
            of: 5,
            prepare: {
                let database = try TemporaryDatabase(schema: schema)
                // Functions that triggers mention are looked up when they fire, so a plain connection can create them.
                return (database, try database.plain())
            },
            { _, plain in
                try plain.execute("BEGIN IMMEDIATE")
                for text in texts {
                    try plain.execute(text)
                }
                try plain.execute("COMMIT")
            }
        )
    }
}
