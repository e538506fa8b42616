package import PowerSyncSyncConfig
import PowerSyncTerminal

/// The tables of a source, and how they are spoken of.
package struct DeclaredSource: Sendable {
    /// The tables.
    package let tables: [DeclaredTable]
    /// The schema of tables that a sync config names without one.
    package let defaultSchema: String
    /// What has the tables, at the beginning of a sentence.
    let name: String
    /// What to do about a table that is not there.
    let remedy: String

    /// The tables of a schema that is written down.
    ///
    /// - Parameter tables: The tables.
    package init(_ tables: [DeclaredTable]) {
        self.init(tables, defaultSchema: "main", name: "The schema", remedy: "Add it to the schema.")
    }

    /// The tables of a schema in a file.
    ///
    /// - Parameter path: A SQLite database, or a text file with `CREATE TABLE` statements.
    /// - Throws: ``UnreadableFile`` when it is neither.
    package init(contentsOf path: String) throws {
        self.init(try DeclaredTable.all(in: path))
    }

    /// Tables of a source that is in use.
    ///
    /// - Parameters:
    ///   - tables: The tables.
    ///   - defaultSchema: The schema of tables that a sync config names without one.
    ///   - name: What has them, at the beginning of a sentence: `Database app`.
    ///   - remedy: What to do about a table that is not there: a sentence.
    package init(_ tables: [DeclaredTable], defaultSchema: String, name: String, remedy: String) {
        self.tables = tables
        self.defaultSchema = defaultSchema
        self.name = name
        self.remedy = remedy
    }
}
