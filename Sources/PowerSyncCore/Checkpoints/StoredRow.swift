import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// The JSON of a row as it may stand in a data table.
///
/// Views read columns with `json_extract`, for which one row that is not JSON makes every query of its table fail ("malformed
/// JSON"), and writes to it, too. So nothing else than JSON is published, whatever the service sends.
enum StoredRow {
    /// What will read the text that is stored for a row.
    enum Reader {
        /// The JSON functions of SQLite, for which halves of surrogate pairs, and deeper nesting than ours, are no trouble.
        case sqlite
        /// ``RawTableBinding``, which reads what ``isJSON(_:)`` accepts.
        case rawTable
    }

    /// What is to be stored for a row.
    enum Readable {
        /// The text as it is.
        case asIs
        /// A text that says what the other one means; see ``JSONRepair``.
        case repaired([UInt8])
        /// The text is not JSON, whose columns are all NULL: an empty object.
        case nothing([UInt8])
    }

    /// Whether a text is JSON without doubt.
    ///
    /// - Complexity: O(length); run for every row that is published.
    static func isJSON(_ text: UnsafeRawBufferPointer) -> Bool {
        var scanner = unsafe JSONScanner(text)
        return (try? scanner.skipValue()) != nil && (try? scanner.finish()) != nil
    }

    /// What to store for a text.
    static func readable(_ db: Database, _ text: UnsafeRawBufferPointer, for reader: Reader) throws -> Readable {
        if unsafe isJSON(text) { return .asIs }
        if reader == .sqlite, try unsafe isJSONForSQLite(db, text) { return .asIs }
        if let repaired = unsafe JSONRepair.repaired(text, infinities: .numbers) { return .repaired(repaired) }
        return .nothing(Array("{}".utf8))
    }

    /// Repairs the rows of a data table that another implementation, or an older version of this one, has written.
    ///
    /// - Complexity: O(size of the table).
    static func repairAll(_ db: Database, in table: DataTable) throws {
        let name = SQLText.identifier(table.internalName)
        var repaired: [(rowID: Int64, text: [UInt8])] = []
        let rows = try PreparedStatement(db, sql: "SELECT rowid, data FROM \(name) WHERE NOT json_valid(data)")
        defer { rows.reset() }
        while try rows.step() {
            guard let text = unsafe rows.text(at: 1) else { continue }
            switch try unsafe readable(db, text, for: .sqlite) {
            case .asIs: break
            case .repaired(let bytes), .nothing(let bytes): repaired.append((rows.integer(at: 0), bytes))
            }
        }
        guard !repaired.isEmpty else { return }
        let update = try PreparedStatement(db, sql: "UPDATE \(name) SET data = ?1 WHERE rowid = ?2")
        // Triggers of the app on the table may write to views: a part of the repair, and no local write.
        try Publishing.whilePublishing(db) {
            for (rowID, text) in repaired {
                try update.bind(checkedText: text, at: 1)
                update.bind(rowID, at: 2)
                try update.run()
            }
        }
        try Announcements.tell(db, [table.internalName], in: Table(table.internalName).databaseRegion(db))
    }

    private static func isJSONForSQLite(_ db: Database, _ text: UnsafeRawBufferPointer) throws -> Bool {
        let statement = try PreparedStatement(db, sql: "SELECT json_valid(?1)")
        defer { statement.reset() }
        try unsafe statement.bind(checkedText: text, at: 1, .inPlace)
        return try statement.step() && statement.integer(at: 0) == 1
    }
}

/// Rows that were published without their values because they are not JSON.
struct UnreadableRows {
    /// How many rows there are, by their types.
    private(set) var counts: [String: Int] = [:]

    mutating func add(type: UnsafeRawBufferPointer) {
        unsafe counts[String(decoding: type, as: UTF8.self), default: 0] += 1
    }

    /// Forgets the types that have been reported already.
    ///
    /// - Parameter reported: The types that were; the others are added to them.
    /// - Returns: A message for the log for each type that is new.
    func report(except reported: inout Set<String>) -> [String] {
        counts.sorted { $0.key < $1.key }.compactMap { type, count in
            guard reported.insert(type).inserted else { return nil }
            let rows = count.counted(
                "row of '\(type)' that is not a JSON object",
                "rows of '\(type)' that are not JSON objects"
            )
            return """
                The service sent \(rows). Columns are NULL until it sends \(count.words("it", "them")) anew; look at what the sync \
                config or the source makes of \(count.words("it", "them")). Reported once.
                """
        }
    }
}
