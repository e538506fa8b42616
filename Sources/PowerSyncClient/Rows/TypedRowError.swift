public import Foundation

/// A row that is not what a type says, or a value that cannot be a row.
///
/// ```
/// Row 3, column 'done': text 'yes' is no Bool (SELECT * FROM todos)
/// ```
///
/// The text shows the first characters of the value: mind who reads it, if rows hold secrets.
public struct TypedRowError: Error, LocalizedError, CustomStringConvertible, Sendable {
    /// What is wrong.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String {
            case missingColumn, ambiguousColumn, unexpectedNull, typeMismatch, outOfRange, malformedValue, unsupported
            case missingKey, rowNotFound
        }

        private let value: Value

        /// The result has no column for a property that is not optional.
        public static let missingColumn = Code(value: .missingColumn)
        /// Several columns have the name that a property asks for, as those of a join may.
        public static let ambiguousColumn = Code(value: .ambiguousColumn)
        /// NULL, or null in a JSON column, for a type that is not optional.
        public static let unexpectedNull = Code(value: .unexpectedNull)
        /// A value of another kind, such as text for a number.
        public static let typeMismatch = Code(value: .typeMismatch)
        /// A number or date that the type, or SQLite, cannot hold exactly.
        public static let outOfRange = Code(value: .outOfRange)
        /// A value of the right kind that says nothing: no date, no UUID, no case of an enum, no JSON.
        public static let malformedValue = Code(value: .malformedValue)
        /// Something that rows do not have, such as a type that is an array where several columns are.
        public static let unsupported = Code(value: .unsupported)
        /// A value to write without the column that tells which row it is.
        public static let missingKey = Code(value: .missingKey)
        /// No row to update.
        public static let rowNotFound = Code(value: .rowNotFound)

        /// The name of the code.
        public var description: String { value.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// What is wrong, in words, without the place.
    public let message: String
    /// The query, when a row was read.
    public internal(set) var sql: String?
    /// The table or view, when a row was written.
    public internal(set) var table: String?
    /// The place of the row in the result, from 1; `nil` when it is not known, and for rows that are written.
    public internal(set) var row: Int?
    /// The column; `nil` when it is about the whole row.
    public internal(set) var column: String?
    /// The place inside of a JSON column, outermost first.
    public internal(set) var path: [String] = []
    /// The beginning of the value, and its type, for people.
    public internal(set) var value: String?
    /// The type that was asked for.
    public internal(set) var type: String?
    /// What the type's own code has thrown.
    public internal(set) var underlyingError: (any Error)?

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The place, what is wrong, and the query or table.
    public var description: String {
        var place: [String] = []
        if let row { place.append("row \(row)") }
        if let column { place.append("column '\(([column] + path).joined(separator: "."))'") }
        var text = place.joined(separator: ", ")
        text = text.isEmpty ? message : text.prefix(1).uppercased() + text.dropFirst() + ": " + message
        if let sql { text += " (\(sql))" }
        if let table { text += " (table '\(table)')" }
        return text
    }

    /// The text for people: ``description``.
    public var errorDescription: String? { description }
}
