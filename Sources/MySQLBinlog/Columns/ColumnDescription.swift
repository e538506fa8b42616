/// What the catalogue says of a column, for reading its values in the log.
package struct ColumnDescription: Sendable, Hashable {
    /// The name.
    package var name: String
    /// The type.
    package var type: MySQLColumnType
    /// The charset of a text; `nil` for other types.
    ///
    /// What the log says of it counts more.
    package var charset: MySQLCharset?
    /// Whether values are read; those of other columns are passed over, as if they were not there.
    package var isRead: Bool

    /// A description.
    package init(name: String, type: MySQLColumnType, charset: MySQLCharset? = nil, isRead: Bool = true) {
        self.name = name
        self.type = type
        self.charset = charset
        self.isRead = isRead
    }
}
