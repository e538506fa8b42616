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
    /// Two columns have the same name.
    case duplicateColumn(tableName: String, columnName: String)
    /// The column `id` is declared.
    case customIdColumn(tableName: String)
    /// Two indexes have the same name.
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
