import PowerSyncSQLite

/// The tables that a request and the rules are about.
struct ServerTables {
    /// Those that were asked for; `nil` when there is none of this name.
    private var tables: [ExactText: ServerTable?] = [:]

    /// What is known of a table; `nil` when it was not asked for.
    subscript(name: String) -> ServerTable?? {
        get { tables[ExactText(name)] }
        set { tables[ExactText(name)] = newValue }
    }
}

/// A table that clients write to.
struct WritableTable {
    let table: ServerTable
    /// The column with the ids of its rows.
    let idColumn: ServerColumn
}

/// What is known of rows in the transaction of a request; what is forgotten is asked for again.
struct ServerRowCache {
    enum Row {
        case stored(StoredRow)
        /// It is there; its values were not read, or the request has written it since.
        case there
        case missing
        /// There is a row with another spelling of the id, which the column takes for the same.
        case spelledOtherwise

        /// Whether there is a row with exactly the id.
        var isThere: Bool {
            switch self {
            case .stored, .there: true
            case .missing, .spelledOtherwise: false
            }
        }
    }

    /// The most bytes of values that are kept: 16 MiB.
    private static let byteLimit = 16 << 20

    private var rows: [ObjectIdentifier: [ExactText: Row]] = [:]
    private var bytes = 0

    /// What is known of a row; `nil` when it was not asked for.
    subscript(table: ServerTable, id: String) -> Row? {
        rows[ObjectIdentifier(table)]?[ExactText(id)]
    }

    /// Notes what was found out about a row.
    mutating func note(_ row: Row, id: String, in table: ServerTable) {
        let before = rows[ObjectIdentifier(table), default: [:]].updateValue(row, forKey: ExactText(id))
        bytes += Self.size(row) - Self.size(before)
    }

    /// Forgets the values of rows when there are too many bytes of them; that the rows are there stays known.
    mutating func forgetValues(unlessFewerBytesThan limit: Int = byteLimit) {
        guard bytes >= limit else { return }
        for (table, known) in rows {
            rows[table] = known.mapValues { row in if case .stored = row { .there } else { row } }
        }
        bytes = 0
    }

    private static func size(_ row: Row?) -> Int {
        if case .stored(let row)? = row { row.byteCount } else { 0 }
    }
}

/// A row could not be inserted because of another one with an equal unique value.
struct DuplicateRow: Error {
    let refusal: WriteRefusal
    let id: String
    let table: ServerTable
    let idColumn: ServerColumn
}
