import PowerSyncProtocol
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// Rows by their keys.
extension PostgresSource: RowReadingSource {
    package var rowReading: (any RowReadingSource)? { self }

    package func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLValue]],
        showing moments: Set<SourceMoment>
    ) async throws -> PresentRows {
        do {
            return try await rowView.reading {
                try await PostgresRowView(of: self)
            } orIf: { error in
                let code = (error as? PostgresError)?.code
                return code == .connection || code == .closed
            } _: { view in
                try await view.rows(of: table, keys: keys, showing: moments.map { TransactionID($0) })
            }
        } catch let error as PostgresError {
            throw explainRows(error, of: table)
        }
    }

    package func shows(_ moment: SourceMoment) -> Bool {
        rowView.keeps { $0.shows([TransactionID(moment)]) }
    }

    package func releaseRows() async throws { try await rowView.release() }

    /// Locks a table against changes of its columns, and makes sure that it is what was described.
    func lock(
        _ table: SourceTableDescriptor,
        _ connection: PostgresConnection,
        _ activity: String
    ) async throws -> PostgresTable {
        do {
            try await connection.query(
                "LOCK TABLE \(relation(table).rowSource) IN ACCESS SHARE MODE",
                activity: activity
            )
        } catch let error as PostgresError where error.sqlState == PostgresError.SQLState.undefinedTable {
            throw outdated(table)
        }
        return try await check(table, connection)
    }

    func find(
        _ keys: [[SQLValue]],
        of table: PostgresTable,
        _ decoder: RowDecoder,
        _ connection: PostgresConnection,
        _ activity: String
    ) async throws -> (rows: [SourceRow], isComplete: Bool) {
        let identity = table.identity
        let texts = keys.compactMap { key in
            key.count == identity.count ? Self.texts(of: key, table) : nil
        }
        guard !texts.isEmpty else { return ([], true) }
        let (condition, arguments) = Self.condition(texts, table)
        try await connection.beginRows(
            of: "SELECT \(table.columnList) FROM \(table.rowSource) \(table.conditions([condition]))",
            arguments,
            activity: activity
        )
        let (found, _) = try await connection.nextRows(
            timeout: PostgresConnection.statementTimeout,
            activity: activity,
            PresentRowCollector(decoder, identity)
        )
        // The table may take different values for equal.
        let (wanted, wantedTexts) = (Set(keys), Set(texts))
        let positions = identity.compactMap { decoder.layout.position(of: $0.name) }
        let rows = zip(found.rows, found.keys).filter { row, key in
            wantedTexts.contains(key) || wanted.contains(positions.map { row.values[$0] })
        }
        return (rows.map(\.0), found.isComplete)
    }

    /// What the rows with these keys fulfil, and perhaps others, and its arguments.
    private static func condition(_ keys: [[String?]], _ table: PostgresTable) -> (sql: String, arguments: [String?]) {
        let identity = table.identity
        guard table.hasKey else {
            // Columns may be NULL, and of types that cannot be compared. One text for each row is looked up in a table of hashes: no index helps.
            return (
                "(\(literals(of: identity))) COLLATE \"C\" = ANY($1::text[])",
                [PostgresText.array(keys.map(literals))]
            )
        }
        if identity.count == 1, identity[0].equality.takesArrays {
            return (
                "\(identity[0].quotedName) \(identity[0].equality.operation) ANY($1)",
                [PostgresText.array(keys.compactMap { $0[0] })]
            )
        }
        var number = 0
        var rows: [String] = []
        for _ in keys {
            var equations: [String] = []
            for column in identity {
                number += 1
                equations.append(equation(column, "$\(number)"))
            }
            rows.append("(\(equations.joined(separator: " AND ")))")
        }
        return ("(\(rows.joined(separator: " OR ")))", keys.flatMap(\.self))
    }

    /// That a column of a key has the value of a parameter.
    private static func equation(_ column: PostgresTable.Column, _ parameter: String) -> String {
        let cast = column.equality.cast.map { "::\($0)" } ?? ""
        return "\(column.quotedName) \(column.equality.operation) \(parameter)\(cast)"
    }

    /// The most columns of one call of `format()`: the server takes 100 arguments.
    private static let maximumLiterals = 90

    /// An expression for the text of ``literals(_:)``.
    private static func literals(of columns: [PostgresTable.Column]) -> String {
        stride(from: 0, to: columns.count, by: maximumLiterals).map { start in
            let part = columns[start..<min(start + maximumLiterals, columns.count)]
            let format = String(repeating: "%L,", count: part.count)
            return "pg_catalog.format('\(format)', \(part.map(\.quotedName).joined(separator: ", ")))"
        }.joined(separator: " || ")
    }

    /// The texts of a row as `format()` of the server writes them with `%L,` for each: as literals, and `NULL`.
    private static func literals(_ texts: [String?]) -> String {
        texts.map { text in
            guard let text else { return "NULL," }
            let literal = PostgresText.escaped(text.unicodeScalars, "'", with: "'")
            guard text.unicodeScalars.contains("\\") else { return "'\(literal)'," }
            return "E'\(PostgresText.escaped(literal.unicodeScalars, "\\", with: "\\"))',"
        }.joined()
    }

    /// The texts of a key for a query; `nil` for one that no row has.
    private static func texts(of key: [SQLValue], _ table: PostgresTable) -> [String?]? {
        var texts: [String?] = []
        for (value, column) in zip(key, table.identity) {
            if value == .null, !table.hasKey {
                texts.append(nil)
                continue
            }
            guard let text = text(of: value, column.type) else { return nil }
            texts.append(text)
        }
        return texts
    }

    private static func text(of value: SQLValue, _ type: PostgresOID) -> String? {
        switch (value, type) {
        case (.null, _): nil
        case (.integer(let number), 21): Int16(exactly: number).map { "\($0)" }
        case (.integer(let number), 23): Int32(exactly: number).map { "\($0)" }
        case (.integer(let number), _): "\(number)"
        // Whatever is not a number would make the query fail.
        case (.text(let text), 20): Int64(text).map { "\($0)" }
        case (.text(let text), 21): Int16(text).map { "\($0)" }
        case (.text(let text), 23): Int32(text).map { "\($0)" }
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

/// Keeps rows up to the size of an answer.
///
/// The others are received all the same: then the connection can be used again.
private struct PresentRowCollector: RowReader {
    private var collector: RowCollector
    /// Where the columns of the identity are.
    private let identity: [Int]
    /// The texts of the identities of the rows.
    private(set) var keys: [[String?]] = []
    /// Whether all rows were kept.
    private(set) var isComplete = true

    init(_ decoder: RowDecoder, _ identity: [PostgresTable.Column]) {
        collector = RowCollector(decoder, maximumRows: .max, maximumBytes: PresentRows.maximumBytes)
        self.identity = identity.compactMap { decoder.layout.position(of: $0.name) }
    }

    var rows: [SourceRow] { collector.rows }
    var wantsMore: Bool { true }

    mutating func read(_ row: LibPQ.Row) {
        guard collector.wantsMore else {
            isComplete = false
            return
        }
        collector.read(row)
        keys.append(identity.map { column in row.withValue(column) { $0?.string } })
    }
}

extension PostgresConnection {
    /// Begins to read everything as it is at the first statement that follows.
    func beginReading(_ activity: String) async throws {
        try await begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;", activity)
    }

    /// Runs `body` in a transaction that reads one state.
    func inReadTransaction<Result>(_ activity: String, _ body: () async throws -> Result) async throws -> Result {
        try await beginReading(activity)
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
