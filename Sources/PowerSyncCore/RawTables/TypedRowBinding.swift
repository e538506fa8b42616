import PowerSyncProtocol
import PowerSyncSQLite

/// Binds a row of a direct table, whose values have the types of their columns, in one pass over its JSON.
///
/// That is what nearly all rows are. Their values need no CAST, and nothing else needs to read their text: what is bound was found to be
/// JSON on the way. Any other row is left to ``RawTableBinding`` and its statement:
///
/// | Row | Why |
/// | --- | --- |
/// | no JSON object | it may be repaired |
/// | a value of another type than its column, `1.5` for an integer | it is converted as a view's CAST does |
/// | a name with an escape sequence, or twice | the first member of a name counts |
/// | NULL for a column that must not be NULL and has a default | it gets the default |
struct TypedRowBinding {
    /// A column besides `id`.
    struct Column: Sendable {
        /// What its values are; the names are those of SQLite.
        enum Kind: String, Sendable {
            case text = "TEXT"
            case integer = "INTEGER"
            case real = "REAL"
        }

        /// The name, in UTF-8.
        let name: [UInt8]
        let kind: Kind
        /// Whether it has a default instead of NULL.
        let needsValue: Bool
    }

    /// How many names of one row may be looked for among those of all columns.
    private static let maximumSearches = 64

    /// The columns, whose parameters are `?2`, `?3` and so on.
    private let columns: [Column]
    private let neededValues: Int
    /// The column that comes after another one in the text, or first, as it was in the last row: rows of a table are mostly alike.
    private var following: [Int]
    /// The number of the last row that had a member for a column.
    private var lastRows: [Int]
    private var row = 0

    /// Prepares for rows of a table.
    init(_ columns: [Column]) {
        self.columns = columns
        neededValues = columns.count(where: \.needsValue)
        following = Array(0...columns.count)
        lastRows = Array(repeating: 0, count: columns.count)
    }

    /// Binds a row.
    ///
    /// - Parameters:
    ///   - id: The id, in memory until the statement has run.
    ///   - data: What may be a JSON object, in memory until the statement has run.
    ///   - statement: The statement, without bound values. Its parameters are the id and the columns.
    /// - Returns: Whether the row is one of those that are bound here; if not, nothing is bound.
    /// - Throws: GRDB's `DatabaseError` when a value is longer than the connection allows.
    mutating func bind(
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer,
        to statement: PreparedStatement
    ) throws -> Bool {
        row += 1
        do {
            var scanner = unsafe JSONScanner(data)
            if try bindMembers(&scanner, to: statement) {
                try unsafe statement.bind(checkedText: id, at: 1, .inPlace)
                return true
            }
        } catch is JSONError {}
        statement.reset()
        return false
    }

    private mutating func bindMembers(_ scanner: inout JSONScanner, to statement: PreparedStatement) throws -> Bool {
        var (last, searches, found) = (0, 0, 0)
        try scanner.beginObject()
        while let name = try scanner.nextMember() {
            guard !name.hasEscapes else { return false }
            var column: Int? = following[last]
            if !isName(name.bytes, ofColumn: column) {
                searches += 1
                guard searches <= Self.maximumSearches else { return false }
                column = columns.indices.first { isName(name.bytes, ofColumn: $0) }
            }
            guard let column else {
                _ = try scanner.skipValue()
                continue
            }
            guard lastRows[column] != row else { return false }
            lastRows[column] = row
            following[last] = column
            last = column + 1
            switch try bindValue(&scanner, columns[column].kind, to: statement, at: CInt(column + 2)) {
            case .value: if columns[column].needsValue { found += 1 }
            case .null: break
            case .ofAnotherType: return false
            }
        }
        try scanner.finish()
        return found == neededValues
    }

    private func isName(_ name: ByteView, ofColumn column: Int?) -> Bool {
        guard let column, column < columns.count, columns[column].name.count == name.count else { return false }
        return unsafe columns[column].name.withUnsafeBytes {
            unsafe JSONSlice.order($0, name.pointer(to: 0..<name.count)) == 0
        }
    }

    private enum Bound {
        case value
        case null
        case ofAnotherType
    }

    private func bindValue(
        _ scanner: inout JSONScanner,
        _ kind: Column.Kind,
        to statement: PreparedStatement,
        at index: CInt
    ) throws -> Bound {
        switch (try scanner.nextKind(), kind) {
        case (.string, .text):
            let string = try scanner.readString()
            if string.hasEscapes {
                try statement.bind(checkedText: string.unescapedBytes, at: index)
            } else {
                let text = unsafe string.bytes.pointer(to: 0..<string.bytes.count)
                try unsafe statement.bind(checkedText: text, at: index, .inPlace)
            }
        case (.number, .integer):
            guard let integer = try scanner.readNumber().integer else { return .ofAnotherType }
            statement.bind(integer, at: index)
        case (.number, .real):
            let number = try scanner.readNumber()
            let double = number.integer.map(Double.init) ?? number.double
            // SQLite takes it for NULL.
            guard !double.isNaN else { return .ofAnotherType }
            statement.bind(double, at: index)
        case (.bool, .integer):
            statement.bind(try scanner.readBool() ? Int64(1) : 0, at: index)
        case (.bool, .real):
            statement.bind(try scanner.readBool() ? 1.0 : 0, at: index)
        case (.object, .text), (.array, .text):
            let range = try scanner.skipValue()
            let text = unsafe RawTableBinding.withoutBlanks(scanner.bytes.pointer(to: range))
            try statement.bind(checkedText: text, at: index)
        case (.null, _):
            try scanner.readNull()
            return .null
        case (.string, .integer), (.string, .real), (.number, .text), (.bool, .text), (.object, .integer),
            (.object, .real), (.array, .integer), (.array, .real):
            return .ofAnotherType
        }
        return .value
    }
}
