import PowerSyncSQLite

/// An index of the words in columns of a client table; see ``FullTextTable``.
package struct FullTextIndex: Sendable, Hashable {
    /// The name, unique in the table.
    package var name: String
    /// The columns whose words are found.
    package var columns: [String]
    /// How FTS5 finds the words in a text, as in its option `tokenize`; `nil` for its default.
    package var tokenizer: String?

    /// Creates an index.
    package init(name: String, columns: [String], tokenizer: String? = nil) {
        self.name = name
        self.columns = columns
        self.tokenizer = tokenizer
    }

    /// The name of the FTS5 table.
    func nameOnDisk(in table: ClientTable) -> String { "\(table.viewName)_\(name)" }

    /// The name of the table with the row numbers in the FTS5 table.
    func rowsNameOnDisk(in table: ClientTable) -> String { nameOnDisk(in: table) + Self.rowsSuffix }

    /// The names of all tables that an index makes: those with the suffixes are where FTS5 stores its words.
    func namesOnDisk(in table: ClientTable) -> [String] {
        let name = nameOnDisk(in: table)
        return ["", Self.rowsSuffix, "_data", "_idx", "_content", "_docsize", "_config"].map { name + $0 }
    }

    /// Why FTS5 cannot index these columns.
    ///
    /// - Parameters:
    ///   - columns: The names of the columns.
    ///   - index: The name of the index.
    ///   - table: The name of the table in SQL.
    /// - Returns: A sentence without its full stop; `nil` if FTS5 can index them.
    package static func problem(ofColumns columns: [String], ofIndex index: String, table: String) -> String? {
        let title = "the full-text index '\(index)' of table '\(table)'"
        guard !columns.isEmpty else { return "\(title) has no columns" }
        var taken = Set(["id", "rank", "rowid", "\(table)_\(index)"].map { ExactText(ignoringCaseOf: $0) })
        guard let column = columns.first(where: { !taken.insert(ExactText(ignoringCaseOf: $0)).inserted }) else {
            return nil
        }
        return "\(title) cannot have the column '\(column)', which FTS5 has for something else or the index has already"
    }

    /// What follows the name of the FTS5 table in ``rowsNameOnDisk(in:)``.
    static let rowsSuffix = "_rows"
}
