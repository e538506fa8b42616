public import Foundation

/// A table that does not follow the rules of ``Table/validate()``.
public enum TableError: Error {
    /// The table has more columns than allowed.
    case tooManyColumns(tableName: String, count: Int)
    /// The name of the table is not allowed. Never thrown.
    case invalidTableName(tableName: String)
    /// The name of the view contains a character that is not allowed.
    case invalidViewName(viewName: String)
    /// The name of a column contains a character that is not allowed.
    case invalidColumnName(tableName: String, columnName: String)
    /// Two columns have the same name, or names that differ in case only.
    ///
    /// A table that tracks metadata has the columns `_metadata` and `_deleted`.
    case duplicateColumn(tableName: String, columnName: String)
    /// The column `id` is declared, in any case.
    case customIdColumn(tableName: String)
    /// Two indexes have the same name, or names that differ in case only.
    case duplicateIndex(tableName: String, indexName: String)
    /// The name of an index contains a character that is not allowed.
    case invalidIndexName(tableName: String, indexName: String)
    /// An index names a column that the table does not have.
    case columnNotFound(tableName: String, columnName: String, indexName: String)
    /// A local-only table tracks metadata.
    case metadataForLocalTable(tableName: String)
    /// A local-only table tracks previous values.
    case trackPreviousForLocalTable(tableName: String)
}

/// A schema that does not follow the rules of ``Schema/validate()``.
public enum SchemaError: Error {
    /// Two tables have the same name.
    case duplicateTableName(String)
}

extension TableError: LocalizedError, CustomStringConvertible {
    /// The text for people.
    public var errorDescription: String? { description }

    /// What is wrong with which table.
    public var description: String {
        switch self {
        case .tooManyColumns(let table, let count): "The table '\(table)' has too many columns: \(count)."
        case .invalidTableName(let table): "A table cannot have the name '\(table)'."
        case .invalidViewName(let view): "A view cannot have the name '\(view)'."
        case .invalidColumnName(let table, let column): "The table '\(table)' cannot have a column '\(column)'."
        case .duplicateColumn(let table, let column): "The table '\(table)' has two columns '\(column)'."
        case .customIdColumn(let table): "The table '\(table)' declares the column 'id', which every table has anyway."
        case .duplicateIndex(let table, let index): "The table '\(table)' has two indexes '\(index)'."
        case .invalidIndexName(let table, let index): "The table '\(table)' cannot have an index '\(index)'."
        case .columnNotFound(let table, let column, let index):
            "The index '\(index)' of the table '\(table)' is for a column '\(column)' that does not exist."
        case .metadataForLocalTable(let table): "The table '\(table)' is local only and cannot track metadata."
        case .trackPreviousForLocalTable(let table):
            "The table '\(table)' is local only and cannot track previous values."
        }
    }
}

extension SchemaError: LocalizedError, CustomStringConvertible {
    /// The text for people.
    public var errorDescription: String? { description }

    /// What is wrong with the schema.
    public var description: String {
        switch self {
        case .duplicateTableName(let name): "The schema has two tables '\(name)'."
        }
    }
}
