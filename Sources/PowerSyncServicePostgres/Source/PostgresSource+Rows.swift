package import PowerSyncRules
package import PowerSyncServiceCore

/// Rows by their keys.
extension PostgresSource {
    package func rows(of table: SourceTableDescriptor, keys: [[SQLiteValue]]) async throws -> PresentRows {
        let activity = "reading rows of table \(table.name)"
        return try await pool.withConnection { connection in
            let rows = try await connection.inTransaction(activity) {
                let described = try await lock(table, connection, activity)
                let decoder = try await decoder(described, table, connection)
                return try await find(keys, of: described, decoder, connection, activity)
            }
            // After the rows: everything that they show was in the log before.
            return PresentRows(rows, at: try await position(connection))
        }
    }

    /// Locks a table against changes of its columns, and makes sure that it is what was described.
    private func lock(
        _ table: SourceTableDescriptor,
        _ connection: PostgresConnection,
        _ activity: String
    ) async throws -> PostgresTable {
        let name = "\(PostgresText.identifier(table.name.schema)).\(PostgresText.identifier(table.name.name))"
        do {
            try await connection.query("LOCK TABLE ONLY \(name) IN ACCESS SHARE MODE", activity: activity)
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedTable {
            throw outdated(table)
        }
        return try await check(table, connection)
    }

    private func find(
        _ keys: [[SQLiteValue]],
        of table: PostgresTable,
        _ decoder: RowDecoder,
        _ connection: PostgresConnection,
        _ activity: String
    ) async throws -> [SourceRow] {
        let identity = table.identity
        let texts = keys.compactMap { key in
            key.count == identity.count ? Self.texts(of: key, identity) : nil
        }
        guard !texts.isEmpty else { return [] }
        let columns = identity.map { PostgresText.identifier($0.name) }
        let condition: String
        let arguments: [String]
        if columns.count == 1 {
            condition = "\(columns[0]) = ANY($1)"
            arguments = [PostgresText.array(texts.map { $0[0] })]
        } else {
            var number = 0
            let rows = texts.map { row in
                let placeholders = row.map { _ in
                    number += 1
                    return "$\(number)"
                }
                return "(\(placeholders.joined(separator: ", ")))"
            }
            condition = "(\(columns.joined(separator: ", "))) IN (\(rows.joined(separator: ", ")))"
            arguments = texts.flatMap { $0 }
        }
        try await connection.beginRows(
            of: "SELECT \(table.columnList) FROM ONLY \(table.quotedName) \(table.conditions([condition]))",
            arguments,
            activity: activity
        )
        let (found, _) = try await connection.nextRows(
            timeout: PostgresConnection.statementTimeout,
            activity: activity,
            RowCollector(decoder, maximumRows: .max, maximumBytes: .max)
        )
        // The table may take different values for equal.
        let wanted = Set(keys)
        let positions = identity.compactMap { decoder.layout.position(of: $0.name) }
        return found.rows.filter { row in wanted.contains(positions.map { row.values[$0] }) }
    }

    /// The texts of a key for a query; `nil` for one that no row has.
    private static func texts(of key: [SQLiteValue], _ identity: [PostgresTable.Column]) -> [String]? {
        var texts: [String] = []
        for (value, column) in zip(key, identity) {
            guard let text = text(of: value, column.type) else { return nil }
            texts.append(text)
        }
        return texts
    }

    private static func text(of value: SQLiteValue, _ type: PostgresOID) -> String? {
        switch (value, type) {
        case (.null, _): nil
        case (.integer(let number), 21): Int16(exactly: number).map { "\($0)" }
        case (.integer(let number), 23): Int32(exactly: number).map { "\($0)" }
        case (.integer(let number), _): "\(number)"
        // Whatever is not a number would make the query fail.
        case (_, 20), (_, 21), (_, 23): nil
        case (.real(let number), _): "\(number)"
        case (.text(let text), 2950): text.utf8.count == 36 ? text : nil
        case (.text(let text), _): text.utf8.contains(0) ? nil : text
        case (.blob(let bytes), _):
            "\\x"
                + bytes.map { byte in
                    let digits = String(byte, radix: 16)
                    return digits.utf8.count == 1 ? "0" + digits : digits
                }.joined()
        }
    }
}

extension PostgresConnection {
    /// Runs `body` in a transaction that only reads.
    func inTransaction<Result>(_ activity: String, _ body: () async throws -> Result) async throws -> Result {
        try await execute("BEGIN READ ONLY", activity: activity)
        do {
            let result = try await body()
            try await execute("COMMIT", activity: activity)
            return result
        } catch {
            // A connection that cannot go back is of no use.
            do { try await execute("ROLLBACK", activity: activity) } catch { close() }
            throw error
        }
    }
}
