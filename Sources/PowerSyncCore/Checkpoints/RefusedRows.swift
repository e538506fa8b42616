/// The rows that SQLite has refused so far in a publication, to be tried again in it.
///
/// They are kept with their data, up to a limit. Those beyond it are tried again by the next complete checkpoint only.
struct RefusedRows {
    /// A row that was refused.
    struct Row {
        let key: RowKey
        /// The data to write; `nil` for a deletion.
        let data: [UInt8]?
        let refusal: Refusal
    }

    /// The most bytes of data to keep.
    private static let limit = 32 << 20

    /// The rows to try again, in the order in which they were refused.
    private(set) var rows: [Row] = []
    /// The rows that came after the limit was reached.
    private(set) var others: [RowKey: Refusal] = [:]
    private var byteCount = 0

    var isEmpty: Bool { rows.isEmpty }
    /// How many rows there are, those beyond the limit included.
    var count: Int { rows.count + others.count }

    /// Adds a row.
    mutating func add(_ row: Row) {
        byteCount += row.data?.count ?? 0
        if byteCount > Self.limit {
            others[row.key] = row.refusal
        } else {
            rows.append(row)
        }
    }

    /// Takes out the rows to try again.
    mutating func take() -> [Row] {
        defer {
            rows = []
            byteCount = 0
        }
        return rows
    }
}
