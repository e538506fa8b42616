import PowerSyncCore

/// How typed rows relate to columns: their names, and what a `Date` is stored as.
///
/// ```swift
/// let format = RowFormat(keys: .snakeCase, dates: .unixMilliseconds)
/// let todos = try await database.getAll("SELECT * FROM todos", as: Todo.self, format: format)
/// ```
public struct RowFormat: Sendable, Hashable {
    /// The names of columns.
    public struct Keys: Sendable, Hashable {
        private let areSnakeCase: Bool

        /// A column has the name of its coding key: the property, or what `CodingKeys` says.
        public static let unchanged = Keys(areSnakeCase: false)
        /// The key `listID` is the column `list_id`, and `urlString2` is `url_string2`.
        ///
        /// Applies to columns only, not to what is inside of a JSON column.
        public static let snakeCase = Keys(areSnakeCase: true)

        /// The column of a coding key.
        func column(of key: String) -> String {
            areSnakeCase ? key.snakeCased : key
        }
    }

    /// What a `Date` is stored as.
    public struct Dates: Sendable, Hashable {
        enum Value { case iso8601, unixSeconds, unixMilliseconds }
        let value: Value

        /// `2026-11-22T18:44:46.120000Z`: text whose order is that of time, with the microseconds of PostgreSQL.
        public static let iso8601 = Dates(value: .iso8601)
        /// Seconds since 1970, with a fraction if there is one.
        public static let unixSeconds = Dates(value: .unixSeconds)
        /// Whole milliseconds since 1970.
        public static let unixMilliseconds = Dates(value: .unixMilliseconds)
    }

    /// The names of columns.
    public var keys: Keys
    /// What a `Date` is written as, and what a number is read as.
    ///
    /// Text is always read as ISO 8601. Numbers are seconds, unless this is ``Dates/unixMilliseconds``.
    public var dates: Dates
    /// The kinds of a table's columns by their names, which a `JsonValue` follows; `nil` where one is JSON in any column.
    var kinds: ColumnKinds.Columns?

    /// Creates a format.
    ///
    /// - Parameters:
    ///   - keys: The names of columns.
    ///   - dates: What a `Date` is stored as.
    public init(keys: Keys = .unchanged, dates: Dates = .iso8601) {
        self.keys = keys
        self.dates = dates
    }

    /// The same names and kinds with other dates.
    func with(_ dates: Dates) -> RowFormat {
        var format = self
        format.dates = dates
        return format
    }
}

extension String {
    /// The name with `_` before each word: where an upper-case letter follows another character, or begins a word in a row
    /// of them.
    fileprivate var snakeCased: String {
        let characters = Array(self)
        var name = ""
        for (index, character) in characters.enumerated() {
            if character.isUppercase, index > 0, characters[index - 1] != "_" {
                let followsWord = !characters[index - 1].isUppercase
                let beginsWord = index + 1 < characters.count && characters[index + 1].isLowercase
                if followsWord || beginsWord { name += "_" }
            }
            name += character.lowercased()
        }
        return name
    }
}
