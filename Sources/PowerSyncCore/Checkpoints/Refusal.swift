import GRDB

/// Why SQLite does not take a row: a constraint of the app, or a trigger that raises an error.
struct Refusal {
    /// The extended result code.
    let code: ResultCode
    /// The reason, with the names of tables, columns and constraints, and without values.
    let reason: String

    /// Recognises a refusal in what writing a row has thrown.
    ///
    /// `nil` for an error that is not about the row: a definition that fits no table, a full disk.
    init?(_ error: any Error) {
        let cause = (error as? RawTableError)?.underlyingError ?? error
        guard let cause = cause as? DatabaseError else { return nil }
        switch cause.resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH: break
        default: return nil
        }
        // RESTRICT refuses a deletion as a trigger would, with this message.
        let isRestriction = cause.message == "FOREIGN KEY constraint failed"
        code = isRestriction ? .SQLITE_CONSTRAINT_FOREIGNKEY : cause.extendedResultCode
        switch code {
        case .SQLITE_CONSTRAINT_TRIGGER, .SQLITE_CONSTRAINT_VTAB, .SQLITE_CONSTRAINT_FUNCTION:
            // Their messages are the app's, and may have values.
            reason = "a trigger refuses it"
        default:
            reason = cause.message ?? "\(cause.resultCode)"
        }
    }

    /// A row that refers to one that is not there, or that others refer to.
    init(_ foreignKey: ForeignKey) {
        code = .SQLITE_CONSTRAINT_FOREIGNKEY
        reason = "FOREIGN KEY constraint failed: \(foreignKey.text)"
    }

    /// Whether another row has a value that only one may have.
    var isUnique: Bool {
        switch code {
        case .SQLITE_CONSTRAINT_UNIQUE, .SQLITE_CONSTRAINT_PRIMARYKEY, .SQLITE_CONSTRAINT_ROWID: true
        default: false
        }
    }

    /// Whether a row that it refers to, or that refers to it, is not as the foreign key wants it, perhaps not yet.
    var isForeignKey: Bool { code == .SQLITE_CONSTRAINT_FOREIGNKEY }
}
