import PowerSyncSQLite

/// Finds the rows of a data table whose unique keys a new row has, on one connection.
///
/// Data tables have no unique key besides the id but those that the app adds, so what is kept is mostly that there is none.
///
/// `@safe`: the ``ConnectionState`` owns it, which lives no longer than the connection.
@safe final class UniqueKeySearch {
    private let connection: OpaquePointer
    private let readVersion: KeptStatement
    /// The schema's version for which ``statements`` are known.
    private var version: Int64?
    /// For each type, one statement for each key of its data table.
    private var statements: [[UInt8]: [KeptStatement]] = [:]
    /// The type that was asked for last, whose rows are mostly written one after the other.
    private var last: (type: [UInt8], statements: [KeptStatement])?

    init(handle: OpaquePointer) {
        unsafe connection = handle
        readVersion = unsafe KeptStatement(handle, "PRAGMA main.schema_version")
    }

    /// The ids of the rows that have a unique key of a row that is about to be stored, without its own.
    ///
    /// - Parameters:
    ///   - type: The row's type, which names the data table.
    ///   - id: The row's id.
    ///   - data: The row as JSON.
    /// - Returns: The ids, each once.
    /// - Throws: `DatabaseError`.
    func conflicts(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer
    ) throws -> [[UInt8]] {
        var ids: [[UInt8]] = []
        for statement in try unsafe statements(of: type) {
            let found: [UInt8]? = try statement.firstRow {
                try unsafe $0.bind(checkedText: id, at: 1, .inPlace)
                try unsafe $0.bind(checkedText: data, at: 2, .inPlace)
            } _: {
                unsafe $0.text(at: 0).map(Array.init) ?? []
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
        closeSearches()
    }

    private func closeSearches() {
        statements.values.joined().forEach { $0.close() }
        statements = [:]
        last = nil
    }

    private func statements(of type: UnsafeRawBufferPointer) throws -> [KeptStatement] {
        let version = try readVersion.run()
        if version != self.version {
            closeSearches()
            self.version = version
        }
        if let last, unsafe last.type.equals(type) { return last.statements }
        let type = unsafe Array(type)
        let found = try statements[type] ?? prepare(type)
        statements[type] = found
        last = (type, found)
        return found
    }

    private func prepare(_ type: [UInt8]) throws -> [KeptStatement] {
        let table = DataTable(name: String(decoding: type, as: UTF8.self), isLocalOnly: false).internalName
        return try unsafe UniqueKey.fetchAll(ofTable: table, on: connection).map { key in
            unsafe KeptStatement(
                connection,
                key.conflicts(
                    "ps_old.id",
                    in: SQLText.identifier(table),
                    withRow: "SELECT ?1 AS id, ?2 AS data",
                    id: "?1"
                )
            )
        }
    }
}
