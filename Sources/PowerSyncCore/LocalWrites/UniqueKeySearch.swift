import PowerSyncSQLite

/// Finds the rows of a data table whose unique keys a new row has, on one connection.
///
/// Data tables have no unique key besides the id but those that the app adds, so what is kept is mostly that there is none.
final class UniqueKeySearch {
    private let connection: OpaquePointer
    private let readVersion: KeptStatement
    /// The schema's version for which ``statements`` are known.
    private var version: Int64?
    /// For each table, by its name, one statement for each key.
    private var statements: [ExactText: [KeptStatement]] = [:]

    init(handle: OpaquePointer) {
        connection = handle
        readVersion = KeptStatement(handle, "PRAGMA main.schema_version")
    }

    /// The ids of the rows that have a unique key of a row that is about to be stored, without its own.
    ///
    /// - Parameters:
    ///   - id: The row's id.
    ///   - data: The row as JSON.
    ///   - table: The name of the data table in SQLite.
    /// - Returns: The ids, each once.
    /// - Throws: `DatabaseError`.
    func conflicts(
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer,
        in table: String
    ) throws -> [[UInt8]] {
        var ids: [[UInt8]] = []
        for statement in try statements(of: table) {
            let found: [UInt8]? = try statement.firstRow {
                try $0.bind(checkedText: id, at: 1, .inPlace)
                try $0.bind(checkedText: data, at: 2, .inPlace)
            } _: {
                $0.text(at: 0).map(Array.init) ?? []
            }
            if let found, !ids.contains(found) { ids.append(found) }
        }
        return ids
    }

    /// Forgets what is known: the schema may have gone back to an earlier version.
    func forget() {
        version = nil
    }

    /// Finalises the statements, so that the connection can be closed.
    func close() {
        readVersion.close()
        version = nil
        statements.values.joined().forEach { $0.close() }
        statements = [:]
    }

    private func statements(of table: String) throws -> [KeptStatement] {
        let version = try readVersion.run()
        if version != self.version {
            statements.values.joined().forEach { $0.close() }
            statements = [:]
            self.version = version
        }
        let name = ExactText(table)
        if let known = statements[name] { return known }
        let found = try UniqueKey.fetchAll(ofTable: table, on: connection).map { key in
            KeptStatement(
                connection,
                key.conflicts(
                    "ps_old.id",
                    in: SQLText.identifier(table),
                    withRow: "SELECT ?1 AS id, ?2 AS data",
                    id: "?1"
                )
            )
        }
        statements[name] = found
        return found
    }
}
