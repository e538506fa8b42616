public import Foundation

/// One row of a query result, valid only while the mapper that receives it runs.
///
/// Conversions are SQLite's own: a text column holding `110` reads as the integer 110.
public protocol SqlCursor {
    /// The boolean in a column: whether its integer value is not 0.
    func getBoolean(index: Int) throws(SqlCursorError) -> Bool
    /// The boolean in a column, `nil` for NULL and for an index out of range.
    func getBooleanOptional(index: Int) -> Bool?
    /// The floating-point number in a column.
    func getDouble(index: Int) throws(SqlCursorError) -> Double
    /// The floating-point number in a column, `nil` for NULL and for an index out of range.
    func getDoubleOptional(index: Int) -> Double?
    /// The integer in a column.
    func getInt(index: Int) throws(SqlCursorError) -> Int
    /// The integer in a column, `nil` for NULL and for an index out of range.
    func getIntOptional(index: Int) -> Int?
    /// The 64-bit integer in a column.
    func getInt64(index: Int) throws(SqlCursorError) -> Int64
    /// The 64-bit integer in a column, `nil` for NULL and for an index out of range.
    func getInt64Optional(index: Int) -> Int64?
    /// The text in a column.
    func getString(index: Int) throws(SqlCursorError) -> String
    /// The text in a column, `nil` for NULL and for an index out of range.
    func getStringOptional(index: Int) -> String?

    /// The number of columns.
    var columnCount: Int { get }
    /// The index of each column by its name; of repeated names the last one.
    var columnNames: [String: Int] { get }
}

/// An error of ``SqlCursor``.
public enum SqlCursorError: Error, LocalizedError {
    /// There is no column of this name.
    case columnNotFound(_ name: String)
    /// A required column holds NULL, or there is no column of this index.
    case nullValueFound(_ name: String)

    /// The text for people, for example `SqlCursorError:columnNotFound:email`.
    public var errorDescription: String? {
        switch self {
        case .columnNotFound(let name): "SqlCursorError:columnNotFound:\(name)"
        case .nullValueFound(let name): "SqlCursorError:nullValueFound:\(name)"
        }
    }
}

extension SqlCursor {
    /// The boolean in a column.
    ///
    /// - Throws: ``SqlCursorError`` when there is no such column, or when it holds NULL.
    public func getBoolean(name: String) throws -> Bool {
        try required(name, getBooleanOptional(index:))
    }

    /// The boolean in a column, `nil` for NULL.
    ///
    /// - Throws: ``SqlCursorError/columnNotFound(_:)`` when there is no such column.
    public func getBooleanOptional(name: String) throws -> Bool? {
        getBooleanOptional(index: try index(of: name))
    }

    /// The floating-point number in a column.
    ///
    /// - Throws: ``SqlCursorError`` when there is no such column, or when it holds NULL.
    public func getDouble(name: String) throws -> Double {
        try required(name, getDoubleOptional(index:))
    }

    /// The floating-point number in a column, `nil` for NULL.
    ///
    /// - Throws: ``SqlCursorError/columnNotFound(_:)`` when there is no such column.
    public func getDoubleOptional(name: String) throws -> Double? {
        getDoubleOptional(index: try index(of: name))
    }

    /// The integer in a column.
    ///
    /// - Throws: ``SqlCursorError`` when there is no such column, or when it holds NULL.
    public func getInt(name: String) throws -> Int {
        try required(name, getIntOptional(index:))
    }

    /// The integer in a column, `nil` for NULL.
    ///
    /// - Throws: ``SqlCursorError/columnNotFound(_:)`` when there is no such column.
    public func getIntOptional(name: String) throws -> Int? {
        getIntOptional(index: try index(of: name))
    }

    /// The 64-bit integer in a column.
    ///
    /// - Throws: ``SqlCursorError`` when there is no such column, or when it holds NULL.
    public func getInt64(name: String) throws -> Int64 {
        try required(name, getInt64Optional(index:))
    }

    /// The 64-bit integer in a column, `nil` for NULL.
    ///
    /// - Throws: ``SqlCursorError/columnNotFound(_:)`` when there is no such column.
    public func getInt64Optional(name: String) throws -> Int64? {
        getInt64Optional(index: try index(of: name))
    }

    /// The text in a column.
    ///
    /// - Throws: ``SqlCursorError`` when there is no such column, or when it holds NULL.
    public func getString(name: String) throws -> String {
        try required(name, getStringOptional(index:))
    }

    /// The text in a column, `nil` for NULL.
    ///
    /// - Throws: ``SqlCursorError/columnNotFound(_:)`` when there is no such column.
    public func getStringOptional(name: String) throws -> String? {
        getStringOptional(index: try index(of: name))
    }

    func index(of name: String) throws(SqlCursorError) -> Int {
        guard let index = columnNames[name] else { throw .columnNotFound(name) }
        return index
    }

    func required<Value>(_ name: String, _ get: (Int) -> Value?) throws(SqlCursorError) -> Value {
        guard let value = get(try index(of: name)) else { throw .nullValueFound(name) }
        return value
    }
}

extension SqlCursorError: CustomStringConvertible {
    /// The text for people.
    public var description: String { errorDescription ?? "" }
}
