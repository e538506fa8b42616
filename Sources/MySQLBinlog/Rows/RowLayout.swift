/// How the rows of a table in the log are read: what the log and the catalogue say of its columns, as one.
package struct RowLayout: Sendable {
    /// Why the rows that the log has are not those of the table in the catalogue.
    package enum Misfit: Error, Sendable, Hashable {
        /// There are so many columns in the log.
        case columnCount(Int, expected: Int)
        /// The column with this index has another type, name or other labels.
        case column(Int)
        /// The column with this index has a type, of this number, that this version cannot even pass over.
        case unknownType(Int, BinlogColumnType)
    }

    /// A column, ready to be read.
    struct Column: Sendable {
        var form: CellForm
        var isRead: Bool
        var isJSON: Bool
    }

    let columns: [Column]

    /// Puts together what is known of a table.
    ///
    /// - Parameters:
    ///   - map: What the log says.
    ///   - descriptions: What the catalogue says, of all columns, in the order of the table.
    ///   - charset: The charset of a collation, by its number; `nil` for one that is not known, whose texts are deferred.
    /// - Throws: ``Misfit`` if the rows were written for another layout; they must not be read by this one.
    package init(
        _ map: TableMap,
        _ descriptions: [ColumnDescription],
        charset: (UInt32) -> MySQLCharset?
    ) throws(Misfit) {
        guard map.columns.count == descriptions.count else {
            throw .columnCount(map.columns.count, expected: descriptions.count)
        }
        var columns: [Column] = []
        columns.reserveCapacity(descriptions.count)
        for (index, (column, description)) in zip(map.columns, descriptions).enumerated() {
            guard column.fits(description, charset: charset) else { throw .column(index) }
            guard let form = CellForm(column, as: description, charset: charset) else {
                throw .unknownType(index, column.type)
            }
            columns.append(Column(form: form, isRead: description.isRead, isJSON: column.type == .json))
        }
        self.columns = columns
    }
}
