/// A mistake in a client schema, found before anything is written.
package enum ClientSchemaError: Error, Sendable, Hashable {
    /// The table has more columns than SQLite can read from a view.
    case tooManyColumns(table: String, count: Int, limit: Int)
    /// The table's name is empty or has a character that is not allowed.
    case invalidTableName(String)
    /// The view's name is empty or has a character that is not allowed.
    case invalidViewName(table: String, view: String)
    /// A column's name is empty or has a character that is not allowed.
    case invalidColumnName(table: String, column: String)
    /// Two columns have the same name, apart from the case of ASCII letters.
    case duplicateColumn(table: String, column: String)
    /// A column is named `id`, which every table has.
    case customIDColumn(table: String)
    /// A column has a name that the view needs for metadata.
    case reservedColumn(table: String, column: String)
    /// Two indexes of a table have the same name.
    case duplicateIndex(table: String, index: String)
    /// An index's name is empty or has a character that is not allowed.
    case invalidIndexName(table: String, index: String)
    /// An index uses a column that the table does not have.
    case columnNotFound(table: String, column: String, index: String)
    /// A local-only table tracks metadata, which is for uploads.
    case metadataForLocalTable(String)
    /// A local-only table tracks previous values, which are for uploads.
    case previousValuesForLocalTable(String)
    /// Two tables have the same name, apart from the case of ASCII letters.
    case duplicateTable(String)
    /// Two tables have views of the same name, apart from the case of ASCII letters.
    case duplicateView(String)
}

extension ClientSchemaError: CustomStringConvertible {
    package var description: String {
        let rule = "Names may not be empty nor contain white space, NUL, or one of \" ' % , . # [ ]"
        switch self {
        case .tooManyColumns(let table, let count, let limit):
            return "Table '\(table)' has \(count) columns, the limit is \(limit)"
        case .invalidTableName(let table):
            return "Invalid table name '\(table)'. \(rule)"
        case .invalidViewName(let table, let view):
            return "Table '\(table)' has the invalid view name '\(view)'. \(rule)"
        case .invalidColumnName(let table, let column):
            return "Table '\(table)' has the invalid column name '\(column)'. \(rule)"
        case .duplicateColumn(let table, let column):
            return "Table '\(table)' has two columns named '\(column)'"
        case .customIDColumn(let table):
            return "Table '\(table)' declares a column 'id'. It exists in every table: remove it from the schema"
        case .reservedColumn(let table, let column):
            return "Table '\(table)' tracks metadata, so it cannot have a column '\(column)'"
        case .duplicateIndex(let table, let index):
            return "Table '\(table)' has two indexes named '\(index)'"
        case .invalidIndexName(let table, let index):
            return "Table '\(table)' has the invalid index name '\(index)'. \(rule)"
        case .columnNotFound(let table, let column, let index):
            return "Index '\(index)' of table '\(table)' uses the column '\(column)', which does not exist"
        case .metadataForLocalTable(let table):
            return "Table '\(table)' is local-only and cannot track metadata"
        case .previousValuesForLocalTable(let table):
            return "Table '\(table)' is local-only and cannot track previous values"
        case .duplicateTable(let table):
            return "There are two tables named '\(table)' (upper and lower case are the same in SQLite)"
        case .duplicateView(let view):
            return "There are two views named '\(view)' (upper and lower case are the same in SQLite)"
        }
    }
}
