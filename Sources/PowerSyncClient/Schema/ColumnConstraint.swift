import PowerSyncSQLite

/// What SQLite checks or sets in a column of a direct table.
///
/// ```swift
/// Table(
///     name: "todos",
///     columns: [
///         .text("list_id", .notNull, .references("lists", onDelete: .cascade)),
///         .text("state", .notNull, .default("'open'"), .check("state IN ('open', 'done')")),
///         .text("title"),
///         .text("sort_key", .generated("lower(title)")),
///     ],
///     direct: true
/// )
/// ```
///
/// SQL texts become a part of the table's definition as they are, so they must come from the app. Constraints hold for synced rows, too:
/// one that is refused is set aside, and the sync status names it. Views have no constraints: without ``Table/direct`` they
/// have no effect.
public struct ColumnConstraint: Hashable, Sendable {
    /// What happens to a row when the one that it refers to is deleted.
    public enum ForeignKeyAction: Hashable, Sendable {
        /// The deletion is refused at the end of the transaction.
        case refuse
        /// The row is deleted, too, which is uploaded.
        case cascade
        /// The column becomes NULL, which is uploaded.
        case setNull
    }

    /// The constraint as SQL.
    let sql: String

    /// The value must not be NULL.
    ///
    /// With a ``default(_:)``, synced rows without a value get that.
    public static let notNull = ColumnConstraint(sql: "NOT NULL")

    /// No two rows have the same value.
    public static let unique = ColumnConstraint(sql: "UNIQUE")

    /// A condition that the value must fulfil, as SQL; NULL fulfils it.
    public static func check(_ condition: String) -> ColumnConstraint {
        ColumnConstraint(sql: "CHECK (\(condition))")
    }

    /// The value of rows that are inserted without one, as an SQL expression: `"0"`, `"'open'"`.
    public static func `default`(_ expression: String) -> ColumnConstraint {
        ColumnConstraint(sql: "DEFAULT (\(expression))")
    }

    /// The column is computed from others of its row when it is read, by an SQL expression.
    ///
    /// It is neither synced nor uploaded, and can be indexed.
    public static func generated(_ expression: String) -> ColumnConstraint {
        ColumnConstraint(sql: "GENERATED ALWAYS AS (\(expression))")
    }

    /// The value is that of a column of a row of another table, or NULL.
    ///
    /// SQLite looks at it at the end of each transaction, and only if the app turns it on with `PRAGMA foreign_keys = ON` on
    /// the database's connections.
    ///
    /// - Parameters:
    ///   - table: The other table, which is direct, too.
    ///   - column: Its column, unique.
    ///   - onDelete: What happens when the other row is deleted.
    /// - Returns: The constraint, deferred.
    public static func references(
        _ table: String,
        column: String = "id",
        onDelete: ForeignKeyAction = .refuse
    ) -> ColumnConstraint {
        let action =
            switch onDelete {
            case .refuse: ""
            case .cascade: " ON DELETE CASCADE"
            case .setNull: " ON DELETE SET NULL"
            }
        let target = "\(SQLText.identifier(table))(\(SQLText.identifier(column)))"
        return ColumnConstraint(sql: "REFERENCES \(target)\(action) DEFERRABLE INITIALLY DEFERRED")
    }
}

/// What SQLite checks in the rows of a direct table, over more than one column.
public struct TableConstraint: Hashable, Sendable {
    /// The constraint as SQL.
    let sql: String

    /// No two rows have the same values in all of these columns.
    public static func unique(_ columns: String...) -> TableConstraint {
        TableConstraint(sql: "UNIQUE (\(columns.map(SQLText.identifier).joined(separator: ", ")))")
    }

    /// A condition that each row must fulfil, as SQL.
    public static func check(_ condition: String) -> TableConstraint {
        TableConstraint(sql: "CHECK (\(condition))")
    }

    /// The text of any table constraint.
    ///
    /// A foreign key should be `DEFERRABLE INITIALLY DEFERRED`: rows arrive in an order that does not know of it.
    public static func sql(_ text: String) -> TableConstraint {
        TableConstraint(sql: text)
    }
}
