/// A column of an index.
public protocol IndexedColumnProtocol: Sendable {
    /// The name of the column in the table.
    var column: String { get }
    /// Whether the index is in ascending order.
    var ascending: Bool { get }
}

/// A column of an ``Index``.
public struct IndexedColumn: IndexedColumnProtocol {
    /// The name of the column in the table.
    public let column: String
    /// Whether the index is in ascending order.
    public let ascending: Bool

    /// Creates an indexed column.
    public init(column: String, ascending: Bool = true) {
        self.column = column
        self.ascending = ascending
    }

    /// Creates an indexed column in ascending order.
    public static func ascending(_ column: String) -> IndexedColumn {
        IndexedColumn(column: column, ascending: true)
    }

    /// Creates an indexed column in descending order.
    public static func descending(_ column: String) -> IndexedColumn {
        IndexedColumn(column: column, ascending: false)
    }
}

/// An index of a table in the client's schema.
public protocol IndexProtocol: Sendable {
    /// The name, unique in its table.
    var name: String { get }
    /// The columns, in order.
    var columns: [any IndexedColumnProtocol] { get }
}

/// An index of a ``Table``.
///
/// ```swift
/// Index(name: "by_list", columns: [IndexedColumn.ascending("list_id"), IndexedColumn.descending("created_at")])
/// ```
public struct Index: IndexProtocol {
    /// The name, unique in its table.
    public let name: String
    /// The columns, in order.
    public let columns: [any IndexedColumnProtocol]
    /// Whether it is an index of words, and not one of values.
    let isFullText: Bool
    /// FTS5's option `tokenize` for an index of words; `nil` for its default.
    let tokenizer: String?

    /// Creates an index.
    public init(name: String, columns: [any IndexedColumnProtocol]) {
        self.init(name: name, columns: columns, isFullText: false, tokenizer: nil)
    }

    private init(name: String, columns: [any IndexedColumnProtocol], isFullText: Bool, tokenizer: String?) {
        self.name = name
        self.columns = columns
        self.isFullText = isFullText
        self.tokenizer = tokenizer
    }

    /// Creates an index.
    public init(name: String, _ columns: any IndexedColumnProtocol...) {
        self.init(name: name, columns: columns)
    }

    /// Creates an index over columns in ascending order.
    public static func ascending(name: String, columns: [String]) -> Index {
        Index(name: name, columns: columns.map { IndexedColumn.ascending($0) })
    }

    /// Creates an index of the words in columns: the FTS5 table `<table>_<name>`, which the SDK makes and keeps.
    ///
    /// ```sql
    /// SELECT notes.* FROM notes_fts JOIN notes ON notes.id = notes_fts.id WHERE notes_fts MATCH 'milk' ORDER BY rank
    /// ```
    ///
    /// See <doc:FullTextSearch>.
    ///
    /// - Parameters:
    ///   - name: The name, unique in its table.
    ///   - columns: The columns.
    ///   - tokenizer: How words are found in a text, FTS5's option `tokenize`: `"porter"`, `"unicode61 remove_diacritics 2"`, `"trigram"`.
    /// - Returns: The index.
    public static func fullText(name: String = "fts", columns: [String], tokenizer: String? = nil) -> Index {
        Index(
            name: name,
            columns: columns.map { IndexedColumn.ascending($0) },
            isFullText: true,
            tokenizer: tokenizer
        )
    }

    /// Creates an index over one column in ascending order.
    public static func ascending(name: String, column: String) -> Index {
        ascending(name: name, columns: [column])
    }
}
